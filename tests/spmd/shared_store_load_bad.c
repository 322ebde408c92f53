// Stores into a shared window are accesses of its owner's memory (R11).
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
  int *part;
  MPI_Aint size;
  int unit;
  MPI_Win common;
  MPI_Win_allocate_shared(64, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &part, &common);
  MPI_Win_shared_query(common, 0, &size, &unit, &part);
  MPI_Win_lock_all(0, common);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) part[0] = 5;
  if (rank == 0) other = part[0];
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_unlock_all(common);
  MPI_Win_free(&common);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
  MPI_Finalize();
  return other < -1;
}
