// A thread is ordered behind what was before its creation (strands).
#include <mpi.h>
#include <stdio.h>
#include <pthread.h>

static int *result;

static void *look(void *unused) {
  (void)unused;
  printf("%d\n", *result);
  return NULL;
}

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
  if (rank == 1) {
    pthread_t thread;
    result = &other;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    pthread_create(&thread, NULL, look, NULL);
    MPI_Get(&other, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    MPI_Win_flush(0, window);
    pthread_join(thread, NULL);
    MPI_Win_unlock(0, window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
  MPI_Finalize();
  return other < -1;
}
