// Work that is stolen: a look at how much there is, without the lock (psearch in the paper, chapter 8).
#include <shmem.h>
#include <stdio.h>

static long locks[2];
static int work;

int main(void) {
  shmem_init();
  int rank = shmem_my_pe();
  work = 4;
  shmem_barrier_all();
  // Everybody takes from its own work, and then from the other one's.
  for (int turn = 0; turn < 2; turn++) {
    int from = (rank + turn) % 2;
    if (shmem_int_g(&work, from) == 0) continue;
    shmem_set_lock(&locks[from]);
    int left = shmem_int_g(&work, from);
    if (left > 0) shmem_int_p(&work, left - 1, from);
    shmem_clear_lock(&locks[from]);
  }
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
