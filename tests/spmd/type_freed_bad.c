// A type may be freed while an operation uses it; its bytes are still in use (R1).
#include <mpi.h>
#include <stdio.h>

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
  MPI_Datatype pairs;
  MPI_Type_vector(2, 1, 2, MPI_INT, &pairs);
  MPI_Type_commit(&pairs);
  int values[4] = {rank, rank, rank, rank};
  MPI_Win_fence(0, window);
  if (rank == 1) {
    MPI_Put(values, 1, pairs, 0, 0, 2, MPI_INT, window);
    MPI_Type_free(&pairs);
    values[2] = 9;
  }
  MPI_Win_fence(0, window);
  if (rank == 0) MPI_Type_free(&pairs);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("%d %d %d\n", seen + zero, result, memory[0]);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
