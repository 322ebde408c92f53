// Who takes a lock made of compare-and-swap is behind who gave it back (values).
#include <shmem.h>
#include <stdio.h>

static long lock;
static int counter;

int main(void) {
  shmem_init();
  int rank = shmem_my_pe();
  shmem_barrier_all();
  while (shmem_long_atomic_compare_swap(&lock, 0, 1, 0) != 0) {
  }
  int value = shmem_int_g(&counter, 0);
  shmem_int_p(&counter, value + 1, 0);
  shmem_quiet();
  shmem_long_atomic_set(&lock, 0, 0);
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
