! A put, and a load behind the fence (R3).
program put_load_08
  use mpi_f08
  implicit none
  integer :: error, rank, one
  type(MPI_Win) :: window
  integer, asynchronous :: memory(4)
  integer(kind=MPI_ADDRESS_KIND) :: bytes, place
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  memory = 0
  bytes = 16
  place = 0
  call MPI_Win_create(memory, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, error)
  call MPI_Win_fence(0, window, error)
  one = rank + 1
  if (rank == 1) call MPI_Put(one, 1, MPI_INTEGER, 0, place, 1, MPI_INTEGER, window, error)
  call MPI_Win_fence(0, window, error)
  if (rank == 0) one = memory(1) + 3
  call MPI_Win_fence(0, window, error)
  print *, one
  call MPI_Win_free(window, error)
  call MPI_Finalize(error)
end program
