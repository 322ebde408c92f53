// A lock keeps apart those who hold it (R19).
#include <shmem.h>
#include <stdio.h>

static int word[4];
static long lock;

int main(void) {
  shmem_init();
  int rank = shmem_my_pe();
  int mine = rank + 1;
  shmem_barrier_all();
  if (rank == 1) shmem_set_lock(&lock);
  shmem_int_p(word, mine, 0);
  if (rank == 1) shmem_clear_lock(&lock);
  shmem_barrier_all();
  if (rank == 0) printf("%d\n", mine);
  shmem_finalize();
  return 0;
}
