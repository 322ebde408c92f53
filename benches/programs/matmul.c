// about: dense matrix multiply; each thread owns a band of rows, nothing is shared but the read-only inputs.
// usage: matmul [size=640] [threads=2]
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_THREADS = 64, BLOCK = 32 };

static int size = 640, threads = 2;
static double *a, *b, *c;

static int least(int x, int y) { return x < y ? x : y; }

static void *multiply(void *arg) {
    int me = (int)(intptr_t)arg;
    int from = (int)((long)size * me / threads), to = (int)((long)size * (me + 1) / threads);
    for (int kk = 0; kk < size; kk += BLOCK)
        for (int i = from; i < to; i++)
            for (int k = kk; k < least(kk + BLOCK, size); k++) {
                double factor = a[i * size + k];
                for (int j = 0; j < size; j++)
                    c[i * size + j] += factor * b[k * size + j];
            }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc > 1) size = atoi(argv[1]);
    if (argc > 2) threads = atoi(argv[2]);
    if (size < 1 || size > 8192 || threads < 1 || threads > MAX_THREADS) {
        fprintf(stderr, "usage: matmul [size 1..8192] [threads 1..%d]\n", MAX_THREADS);
        return 2;
    }
    size_t cells = (size_t)size * size;
    a = malloc(cells * sizeof *a);
    b = malloc(cells * sizeof *b);
    c = calloc(cells, sizeof *c);
    if (!a || !b || !c) return 2;
    for (size_t i = 0; i < cells; i++) {
        a[i] = (double)(i % 7) - 3;
        b[i] = (double)(i % 11) - 5;
    }
    pthread_t team[MAX_THREADS];
    for (int t = 0; t < threads; t++)
        pthread_create(&team[t], NULL, multiply, (void *)(intptr_t)t);
    for (int t = 0; t < threads; t++)
        pthread_join(team[t], NULL);
    double sum = 0;
    for (size_t i = 0; i < cells; i++)
        sum += c[i] * (double)(i % 13);
    printf("checksum %.0f\n", sum);
    free(a);
    free(b);
    free(c);
    return 0;
}
