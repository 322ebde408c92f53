// strcpy stores what a put is still to read (R1).
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
  char text[8] = "abc";
  MPI_Win_fence(0, window);
  if (rank == 1) {
    MPI_Put(text, 4, MPI_CHAR, 0, 0, 4, MPI_CHAR, window);
    strcpy(text, "xyz");
  }
  MPI_Win_fence(0, window);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("%d %d %d\n", seen + zero, result, memory[0]);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
