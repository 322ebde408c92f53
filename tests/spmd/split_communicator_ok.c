// Ranks of a window are those of its communicator (R3).
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
  for (int i = 0; i < 16; i++) memory[i] = 0;
  int one = rank + 1, other = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm part;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &part);
  int place;
  MPI_Comm_rank(part, &place);
  MPI_Win turned;
  int *own;
  MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, part, &own, &turned);
  MPI_Win_fence(0, turned);
  if (place == 0) MPI_Put(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, turned);
  if (place == 1) own[1] = 3;
  MPI_Win_fence(0, turned);
  MPI_Win_free(&turned);
  MPI_Comm_free(&part);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
  MPI_Finalize();
  return other < -1;
}
