// Every rank sends its last cell to its right neighbour and takes the mean with it. The second fence is missing: a rank
// may read the cell before it is there.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  double *halo;
  MPI_Win window;
  MPI_Win_allocate(sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &halo, &window);
  *halo = 0;
  double own = rank + 1;

  MPI_Win_fence(0, window);
  MPI_Put(&own, 1, MPI_DOUBLE, (rank + 1) % ranks, 0, 1, MPI_DOUBLE, window);
  double mean = (own + *halo) / 2;
  MPI_Win_fence(0, window);

  printf("rank %d: %g\n", rank, mean);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
