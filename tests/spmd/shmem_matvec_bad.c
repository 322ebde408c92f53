// The product of a matrix and a vector, into that same vector (the paper, chapter 2.1).
#include <shmem.h>
#include <stdio.h>

#define N 8
static int b[N], c[N];

int main(void) {
  shmem_init();
  int rank = shmem_my_pe();
  int ranks = shmem_n_pes();
  for (int i = 0; i < N; i++) b[i] = i + 1;
  shmem_barrier_all();
  // Each rank has N / 2 elements of each vector; the others' are fetched.
  for (int row = rank * N / 2; row < (rank + 1) * N / 2; row++) {
    int sum = 0;
    for (int i = 0; i < N; i++) sum += shmem_int_g(&b[i], i * ranks / N) * (row + i);
    b[row] = sum;
  }
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
