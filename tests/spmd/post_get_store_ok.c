// A store of the target between post and wait (R4).
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
  MPI_Group world, group;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int peer = 1 - rank;
  MPI_Group_incl(world, 1, &peer, &group);
  if (rank == 0) {
    MPI_Win_post(group, 0, window);
    MPI_Win_wait(window);
    memory[0] = 5;
  } else {
    MPI_Win_start(group, 0, window);
    MPI_Get(&other, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    MPI_Win_complete(window);
  }
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
  MPI_Finalize();
  return other < -1;
}
