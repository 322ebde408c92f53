// Attached memory is a window too (R3, R12).
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
  static int block[4];
  MPI_Win dynamic;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
  MPI_Win_attach(dynamic, block, sizeof block);
  MPI_Aint there;
  MPI_Get_address(block, &there);
  MPI_Bcast(&there, 1, MPI_AINT, 0, MPI_COMM_WORLD);
  MPI_Win_fence(0, dynamic);
  if (rank == 1) MPI_Put(&one, 1, MPI_INT, 0, there, 1, MPI_INT, dynamic);
  if (rank == 0) block[0] = 3;
  MPI_Win_fence(0, dynamic);
  MPI_Win_detach(dynamic, block);
  MPI_Win_free(&dynamic);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
  MPI_Finalize();
  return other < -1;
}
