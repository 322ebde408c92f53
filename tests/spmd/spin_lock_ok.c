// Who takes a lock made of compare-and-swap is behind who gave it back (values).
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
  int one = 1, zero = 0, taken, counter;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  do {
    MPI_Compare_and_swap(&one, &zero, &taken, MPI_INT, 0, 0, window);
    MPI_Win_flush(0, window);
  } while (taken != 0);
  MPI_Get(&counter, 1, MPI_INT, 0, 4, 1, MPI_INT, window);
  MPI_Win_flush(0, window);
  counter++;
  MPI_Put(&counter, 1, MPI_INT, 0, 4, 1, MPI_INT, window);
  MPI_Win_flush(0, window);
  MPI_Accumulate(&zero, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_REPLACE, window);
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
