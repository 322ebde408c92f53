// A buffer is given back before the operation that reads it is over (R12).
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int *memory;
  MPI_Win window;
  MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  for (int i = 0; i < 16; i++) memory[i] = 0;
  int mine = rank + 1, result = 0, zero = 0, seen = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  int *block = malloc(sizeof(int));
  *block = rank;
  MPI_Win_lock_all(0, window);
  if (rank == 1) {
    MPI_Put(block, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    free(block);
  }
  MPI_Win_unlock_all(window);
  if (rank == 0) free(block);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("%d %d %d\n", seen + zero, result, memory[0]);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
