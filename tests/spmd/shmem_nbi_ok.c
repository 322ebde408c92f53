// The origin of a nonblocking put is changed after quiet (R15).
#include <shmem.h>
#include <stdio.h>

static int word, flag, other;

int main(void) {
  shmem_init();
  int rank = shmem_my_pe();
  shmem_barrier_all();
  static int mine[1] = {3};
  if (rank == 1) {
    shmem_int_put_nbi(&word, mine, 1, 0);
    shmem_quiet();
    mine[0] = 4;
  }
  shmem_barrier_all();
  if (rank == 0) printf("%d %d\n", word, other);
  shmem_finalize();
  return 0;
}
