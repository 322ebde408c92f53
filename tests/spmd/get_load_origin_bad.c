// The result of a get is used before it is there.
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int *memory, result = 0, seen = 0;
  MPI_Win window;
  MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  memory[0] = 7;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Get(&result, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    seen = result;
    MPI_Win_unlock(0, window);
    printf("%d\n", seen + result >= 7);
  }
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
