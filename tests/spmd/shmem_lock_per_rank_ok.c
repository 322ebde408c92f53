// A sum that everybody adds to under one lock.
#include <shmem.h>
#include <stdio.h>

static long locks[8];
static int sum;

int main(void) {
  shmem_init();
  int rank = shmem_my_pe();
  shmem_barrier_all();
  shmem_set_lock(&locks[0]);
  int value = shmem_int_g(&sum, 0);
  shmem_int_p(&sum, value + rank, 0);
  shmem_clear_lock(&locks[0]);
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
