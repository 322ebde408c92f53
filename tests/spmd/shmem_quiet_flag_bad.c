// quiet before the flag orders as a fence does (R15, R17).
#include <shmem.h>
#include <stdio.h>

static int word[4], flag, other;

int main(void) {
  shmem_init();
  int rank = shmem_my_pe();
  int mine = rank + 1;
  shmem_barrier_all();
  if (rank == 1) {
    shmem_int_p(word, 7, 0);
    shmem_int_atomic_set(&flag, 1, 0);
  } else {
    shmem_int_wait_until(&flag, SHMEM_CMP_NE, 0);
    other = word[0];
  }
  shmem_barrier_all();
  if (rank == 0) printf("%d\n", mine);
  shmem_finalize();
  return 0;
}
