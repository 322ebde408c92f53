// strcpy and strcmp are stores and loads (R1, R2).
#include <mpi.h>
#include <stdio.h>
#include <string.h>

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
  char text[8] = "abc", other[8] = "";
  MPI_Win_lock_all(0, window);
  if (rank == 1) {
    MPI_Get(other, 8, MPI_CHAR, 0, 0, 8, MPI_CHAR, window);
    MPI_Win_flush(0, window);
    seen = strcmp(text, other);
  }
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("%d %d %d\n", seen + zero, result, memory[0]);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
