// Source and destination are touched while everybody reduces (R21).
#include <shmem.h>
#include <stdio.h>

static int word[4], other, work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static long sync[SHMEM_REDUCE_SYNC_SIZE];

int main(void) {
  shmem_init();
  int rank = shmem_my_pe();
  int mine = rank + 1;
  for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++) sync[i] = SHMEM_SYNC_VALUE;
  shmem_barrier_all();
  if (rank == 1) shmem_int_p(&other, 7, 0);
  shmem_int_sum_to_all(&other, word, 1, 0, 0, 2, work, sync);
  shmem_barrier_all();
  if (rank == 0) printf("%d\n", mine);
  shmem_finalize();
  return 0;
}
