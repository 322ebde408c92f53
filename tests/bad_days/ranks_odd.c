// What MPI allows and nobody expects: empty windows, two over the same memory, types and communicators that are freed
// while they are in use, addresses instead of buffers, requests that are none, a child of a rank.
#include <mpi.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv) {
  int provided, rank, ranks;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int next = (rank + 1) % ranks, mine[8] = {rank}, got[8] = {0};
  char *memory = calloc(256, 1);
  MPI_Win window, empty, twice, dynamic;
  MPI_Win_create(memory, 256, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_create(memory + 128, 128, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &twice);
  MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &empty);
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
  MPI_Win_lock_all(0, window);
  MPI_Put(mine, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, window);
  MPI_Put(mine, 0, MPI_INT, next, 0, 0, MPI_INT, window);
  MPI_Put(mine, 3, MPI_CHAR, next, 5, 3, MPI_CHAR, window);
  MPI_Win_flush(next, window);
  // A type that walks downwards, freed while it is in use; an absolute address.
  MPI_Datatype down, here;
  MPI_Type_create_hvector(2, 1, -8, MPI_INT, &down);
  MPI_Type_commit(&down);
  MPI_Put(mine, 2, MPI_INT, next, 64, 1, down, window);
  MPI_Type_free(&down);
  MPI_Aint address;
  int one = 1;
  MPI_Get_address(mine, &address);
  MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &here);
  MPI_Type_commit(&here);
  MPI_Put(MPI_BOTTOM, 1, here, next, 80, 1, MPI_INT, window);
  MPI_Type_free(&here);
  MPI_Win_unlock_all(window);
  MPI_Win_fence(0, twice);
  MPI_Get(got, 1, MPI_INT, next, 0, 1, MPI_INT, twice);
  MPI_Win_fence(0, twice);
  // A communicator that is freed while a window and a message need it.
  MPI_Comm part;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &part);
  int *own;
  MPI_Win inner;
  MPI_Win_allocate(64, 4, MPI_INFO_NULL, part, &own, &inner);
  MPI_Comm_free(&part);
  own[0] = 1;
  MPI_Win_free(&inner);
  MPI_Request requests[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Irecv(got, 8, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(mine, 1, MPI_INT, next, 3, MPI_COMM_WORLD, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
  int total = 1;
  MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  pid_t child = fork();
  if (child == 0) _exit(total == ranks ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&dynamic);
  MPI_Win_free(&empty);
  MPI_Win_free(&twice);
  MPI_Win_free(&window);
  MPI_Finalize();
  free(memory);
  return status != 0;
}
