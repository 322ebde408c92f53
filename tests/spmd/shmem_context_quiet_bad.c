// quiet completes its own context only (R15).
#include <shmem.h>
#include <stdio.h>

static int word[4], flag, other;

int main(void) {
  shmem_init();
  int rank = shmem_my_pe();
  int mine = rank + 1;
  shmem_barrier_all();
  shmem_ctx_t context;
  shmem_ctx_create(0, &context);
  if (rank == 1) {
    shmem_ctx_int_p(context, word, 7, 0);
    shmem_quiet();
  }
  shmem_sync_all();
  if (rank == 0) other = word[0];
  shmem_sync_all();
  shmem_ctx_destroy(context);
  shmem_barrier_all();
  if (rank == 0) printf("%d\n", mine);
  shmem_finalize();
  return 0;
}
