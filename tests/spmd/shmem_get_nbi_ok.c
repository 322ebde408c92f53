// The result of a nonblocking get is there after quiet (R15).
#include <shmem.h>
#include <stdio.h>

static int word[4], flag, other;

int main(void) {
  shmem_init();
  int rank = shmem_my_pe();
  int mine = rank + 1;
  shmem_barrier_all();
  if (rank == 1) {
    shmem_int_get_nbi(&mine, word, 1, 0);
    shmem_quiet();
    printf("%d\n", mine);
  }
  shmem_barrier_all();
  if (rank == 0) printf("%d\n", mine);
  shmem_finalize();
  return 0;
}
