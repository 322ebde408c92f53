// A fence between data and flag: who sees the flag sees the data (R16, R17).
#include <shmem.h>
#include <stdio.h>

static int word, flag, other;

int main(void) {
  shmem_init();
  int rank = shmem_my_pe();
  shmem_barrier_all();
  if (rank == 1) {
    shmem_int_p(&word, 7, 0);
    shmem_fence();
    shmem_int_atomic_set(&flag, 1, 0);
  } else if (rank == 0) {
    shmem_int_wait_until(&flag, SHMEM_CMP_EQ, 1);
    other = word;
  }
  shmem_barrier_all();
  if (rank == 0) printf("%d %d\n", word, other);
  shmem_finalize();
  return 0;
}
