// Random updates of a table that are not atomic (guppie in the paper, chapter 8).
#include <shmem.h>
#include <stdio.h>

static int table[4];

int main(void) {
  shmem_init();
  int rank = shmem_my_pe();
  shmem_barrier_all();
  unsigned random = 12345 + rank;
  for (int i = 0; i < 8; i++) {
    random = random * 1103515245 + 12345;
    int place = random / 65536 % 4;
    int value = shmem_int_g(&table[place], 0);
    shmem_int_p(&table[place], value + 1, 0);
  }
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
