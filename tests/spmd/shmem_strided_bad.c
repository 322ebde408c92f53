// Elements at distances: only common bytes count (R15).
#include <shmem.h>
#include <stdio.h>

static int word[4], flag, other;

int main(void) {
  shmem_init();
  int rank = shmem_my_pe();
  int mine = rank + 1;
  shmem_barrier_all();
  int two[2] = {1, 2};
  if (rank == 1) shmem_int_iput(word, two, 2, 1, 2, 0);
  if (rank == 0) word[2] = 3;
  shmem_barrier_all();
  if (rank == 0) printf("%d\n", mine);
  shmem_finalize();
  return 0;
}
