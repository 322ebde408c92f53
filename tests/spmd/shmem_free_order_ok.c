// Giving symmetric memory back begins with a barrier of everybody, which completes the put.
#include <shmem.h>
#include <stdio.h>
int main(void) {
  shmem_init();
  int me = shmem_my_pe(), mine = me + 1;
  int *block = shmem_malloc(64);
  block[0] = 0;
  shmem_barrier_all();
  if (me == 1) shmem_int_put(block, &mine, 1, 0);
  shmem_free(block);
  printf("%d\n", me);
  shmem_finalize();
  return 0;
}
