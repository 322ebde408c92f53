// What calls, loads and boundaries cost: nanoseconds each, the least of several rounds. Two ranks or more.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 40, OPERATIONS = 2000, LOADS = 200000, BARRIERS = 200 };

static double least(double known, double began, int count) {
  double each = (MPI_Wtime() - began) / count * 1e9;
  return each < known ? each : known;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  long *memory;
  MPI_Win window;
  MPI_Win_allocate(1 << 20, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  long *outside = malloc(LOADS * sizeof(long));
  for (int i = 0; i < LOADS; i++) outside[i] = i;
  long value = 1, sum = 0;
  double put = 1e9, load = 1e9, shared = 1e9, barrier = 1e9;
  int next = (rank + 1) % ranks;
  for (int round = 0; round < ROUNDS; round++) {
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, window);
    double began = MPI_Wtime();
    for (int i = 0; i < OPERATIONS; i++) MPI_Put(&value, 1, MPI_LONG, next, i, 1, MPI_LONG, window);
    put = least(put, began, OPERATIONS);
    MPI_Win_unlock(next, window);
    began = MPI_Wtime();
    for (int i = 0; i < LOADS; i++) sum += outside[i];
    load = least(load, began, LOADS);
    MPI_Barrier(MPI_COMM_WORLD);
    began = MPI_Wtime();
    for (int i = 0; i < LOADS; i++) sum += memory[(1 << 16) + i % (1 << 15)];
    shared = least(shared, began, LOADS);
    MPI_Barrier(MPI_COMM_WORLD);
    began = MPI_Wtime();
    for (int i = 0; i < BARRIERS; i++) MPI_Barrier(MPI_COMM_WORLD);
    barrier = least(barrier, began, BARRIERS);
  }
  if (rank == 0) printf("put %.1f load %.1f shared %.1f barrier %.1f sum %ld\n", put, load, shared, barrier, sum % 2);
  MPI_Win_free(&window);
  free(outside);
  MPI_Finalize();
  return 0;
}
