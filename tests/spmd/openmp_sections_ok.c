// Two sections are parallel, whoever runs them (strands).
#include <mpi.h>
#include <stdio.h>
#include <omp.h>

int main(int argc, char **argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int *memory;
  MPI_Win window;
  MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  for (int i = 0; i < 16; i++) memory[i] = 0;
  int one = rank + 1, other = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  #pragma omp parallel num_threads(2)
  {
  #pragma omp sections
    {
  #pragma omp section
      if (rank == 1) {
        MPI_Get(&other, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
        MPI_Win_flush(0, window);
      }
  #pragma omp section
      if (rank == 1) printf("%d\n", one);
    }
  }
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
  MPI_Finalize();
  return other < -1;
}
