// A put beside an atomic add (R18).
#include <shmem.h>
#include <stdio.h>

static int word, flag, other;

int main(void) {
  shmem_init();
  int rank = shmem_my_pe();
  shmem_barrier_all();
  if (rank == 1) shmem_int_atomic_add(&word, 1, 0);
  if (rank == 0) shmem_int_p(&word, 5, 0);
  shmem_barrier_all();
  if (rank == 0) printf("%d %d\n", word, other);
  shmem_finalize();
  return 0;
}
