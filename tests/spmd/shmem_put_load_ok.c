// The owner reads after the barrier (R15).
#include <shmem.h>
#include <stdio.h>

static int word, flag, other;

int main(void) {
  shmem_init();
  int rank = shmem_my_pe();
  shmem_barrier_all();
  if (rank == 1) shmem_int_p(&word, 7, 0);
  shmem_barrier_all();
  if (rank == 0) other = word;
  shmem_barrier_all();
  if (rank == 0) printf("%d %d\n", word, other);
  shmem_finalize();
  return 0;
}
