// Who fetches a flag is behind who set it, and what was complete then (values).
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
  if (rank == 1) {
    MPI_Win_lock_all(0, window);
    MPI_Put(&one, 1, MPI_INT, 0, 4, 1, MPI_INT, window);
    MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_REPLACE, window);
    MPI_Win_unlock_all(window);
  } else {
    MPI_Win_lock_all(0, window);
    while (other == 0) {
      MPI_Fetch_and_op(NULL, &other, MPI_INT, 0, 0, MPI_NO_OP, window);
      MPI_Win_flush(0, window);
    }
    other = memory[4];
    MPI_Win_unlock_all(window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
  MPI_Finalize();
  return other < -1;
}
