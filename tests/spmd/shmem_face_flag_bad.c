// Faces that are put and announced by a flag, with no fence between them.
#include <shmem.h>
#include <stdio.h>

static int face[4], ready, inner;

int main(void) {
  shmem_init();
  int rank = shmem_my_pe();
  int other = 1 - rank;
  shmem_barrier_all();
  for (int step = 1; step <= 3; step++) {
    shmem_int_put(face, &step, 1, other);
    shmem_int_p(&ready, step, other);
    shmem_int_wait_until(&ready, SHMEM_CMP_GE, step);
    inner += face[0];
    shmem_barrier_all();
  }
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
