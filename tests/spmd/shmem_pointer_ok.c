// A store through shmem_ptr is an access of the other rank's memory (R22).
#include <shmem.h>
#include <stdio.h>

static int *heap;

int main(void) {
  shmem_init();
  int rank = shmem_my_pe();
  int mine = rank + 1;
  heap = shmem_malloc(sizeof *heap);
  shmem_barrier_all();
  int *there = shmem_ptr(heap, 0);
  if (rank == 1 && there) *there = 5;
  shmem_barrier_all();
  if (rank == 0) mine = *heap;
  shmem_barrier_all();
  if (rank == 0) printf("%d\n", mine);
  shmem_finalize();
  return 0;
}
