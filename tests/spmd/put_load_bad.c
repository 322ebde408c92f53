// The target reads the word before the epoch ends.
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int *memory;
  MPI_Win window;
  MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  memory[0] = 0;
  int mine = rank + 1, seen = 0;
  MPI_Win_fence(0, window);
  if (rank == 1) MPI_Put(&mine, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
  if (rank == 0) seen = memory[0];
  MPI_Win_fence(0, window);
  if (rank == 0) printf("%d %d\n", seen, memory[0]);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
