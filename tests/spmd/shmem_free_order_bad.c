// Nothing but giving the memory back orders the put, and the load comes before that.
#include <shmem.h>
#include <stdio.h>
int main(void) {
  shmem_init();
  int me = shmem_my_pe(), mine = me + 1, seen = 0;
  int *block = shmem_malloc(64);
  block[0] = 0;
  shmem_barrier_all();
  if (me == 1) shmem_int_put(block, &mine, 1, 0);
  if (me == 0) seen = block[0];
  shmem_free(block);
  printf("%d %d\n", me, seen);
  shmem_finalize();
  return 0;
}
