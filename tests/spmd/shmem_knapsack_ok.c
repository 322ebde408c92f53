// Dynamic programming, a barrier after every row.
#include <shmem.h>
#include <stdio.h>

#define ITEMS 4
#define ROOM 9
static int weight[ITEMS] = {2, 3, 4, 5}, profit[ITEMS] = {3, 4, 5, 6};
static int table[ITEMS][ROOM + 1];

int main(void) {
  shmem_init();
  int rank = shmem_my_pe();
  int ranks = shmem_n_pes();
  // One row per item, each rank has every second column; a row needs the one before.
  for (int item = 0; item < ITEMS; item++) {
    for (int room = rank; room <= ROOM; room += ranks) {
      int without = item == 0 ? 0 : table[item - 1][room];
      int with = 0;
      int left = room - weight[item];
      if (left >= 0) {
        with = profit[item];
        if (item > 0) with += shmem_int_g(&table[item - 1][left], left % ranks);
      }
      table[item][room] = with > without ? with : without;
    }
    shmem_barrier_all();
  }
  shmem_barrier_all();
  if (rank == ROOM % ranks) printf("%d\n", table[ITEMS - 1][ROOM]);
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
