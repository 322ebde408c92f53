// A get does not wait for a put of the same rank (R15).
#include <shmem.h>
#include <stdio.h>

static int word[4], flag, other;

int main(void) {
  shmem_init();
  int rank = shmem_my_pe();
  int mine = rank + 1;
  shmem_barrier_all();
  if (rank == 1) {
    shmem_int_p(word, 7, 0);
    mine = shmem_int_g(word, 0);
  }
  shmem_barrier_all();
  if (rank == 0) printf("%d\n", mine);
  shmem_finalize();
  return 0;
}
