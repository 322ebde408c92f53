// Atomic adds do not mind each other (R18).
#include <shmem.h>
#include <stdio.h>

static int word, flag, other;

int main(void) {
  shmem_init();
  int rank = shmem_my_pe();
  shmem_barrier_all();
  shmem_int_atomic_add(&word, 1, 0);
  shmem_barrier_all();
  if (rank == 0) printf("%d %d\n", word, other);
  shmem_finalize();
  return 0;
}
