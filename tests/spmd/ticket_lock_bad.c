// The next ticket is called while the put is under way: no flush (values).
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
  int one = 1, ticket, served, counter;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  MPI_Fetch_and_op(&one, &ticket, MPI_INT, 0, 0, MPI_SUM, window);
  MPI_Win_flush(0, window);
  do {
    MPI_Fetch_and_op(NULL, &served, MPI_INT, 0, 1, MPI_NO_OP, window);
    MPI_Win_flush(0, window);
  } while (served != ticket);
  MPI_Get(&counter, 1, MPI_INT, 0, 4, 1, MPI_INT, window);
  MPI_Win_flush(0, window);
  counter++;
  MPI_Put(&counter, 1, MPI_INT, 0, 4, 1, MPI_INT, window);
  MPI_Accumulate(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, window);
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
