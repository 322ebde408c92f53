// A result that is reset before anybody may put to it.
#include <shmem.h>
#include <stdio.h>

static int largest;

int main(void) {
  shmem_init();
  int rank = shmem_my_pe();
  for (int step = 0; step < 3; step++) {
    if (rank == 0) largest = 0;
    shmem_barrier_all();
    if (rank == 1) shmem_int_p(&largest, step + 1, 0);
    shmem_barrier_all();
  }
  if (rank == 0) printf("%d\n", largest);
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
