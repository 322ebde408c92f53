// Each rank puts to a word of its own.
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int *memory;
  MPI_Win window;
  MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  int mine = rank + 1;
  MPI_Win_fence(0, window);
  MPI_Put(&mine, 1, MPI_INT, 0, rank, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  if (rank == 0) printf("%d\n", memory[0] > 0);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
