// about: LU factorisation without pivoting; rows are dealt out to the threads, two barriers a step.
// flags: -lm
// usage: lu [size=800] [threads=2]
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_THREADS = 64 };

static int size = 800, threads = 2;
static double *m, pivot_inverse;
static pthread_barrier_t step_ready, step_done;

static void *factorise(void *arg) {
    int me = (int)(intptr_t)arg;
    for (int k = 0; k + 1 < size; k++) {
        if (k % threads == me)
            pivot_inverse = 1.0 / m[k * size + k];
        pthread_barrier_wait(&step_ready);
        for (int i = k + 1; i < size; i++) {
            if (i % threads != me) continue;
            double factor = m[i * size + k] *= pivot_inverse;
            for (int j = k + 1; j < size; j++)
                m[i * size + j] -= factor * m[k * size + j];
        }
        pthread_barrier_wait(&step_done);
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc > 1) size = atoi(argv[1]);
    if (argc > 2) threads = atoi(argv[2]);
    if (size < 1 || size > 8192 || threads < 1 || threads > MAX_THREADS) {
        fprintf(stderr, "usage: lu [size 1..8192] [threads 1..%d]\n", MAX_THREADS);
        return 2;
    }
    m = malloc((size_t)size * size * sizeof *m);
    if (!m) return 2;
    // Diagonally dominant, so that no pivot comes near zero.
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++)
            m[i * size + j] = i == j ? size : (i * 7 + j * 3) % 10 / 10.0;
    pthread_barrier_init(&step_ready, NULL, (unsigned)threads);
    pthread_barrier_init(&step_done, NULL, (unsigned)threads);
    pthread_t team[MAX_THREADS];
    for (int t = 0; t < threads; t++)
        pthread_create(&team[t], NULL, factorise, (void *)(intptr_t)t);
    for (int t = 0; t < threads; t++)
        pthread_join(team[t], NULL);
    double log_determinant = 0;
    for (int i = 0; i < size; i++)
        log_determinant += log(m[i * size + i]);
    printf("checksum %.9f\n", log_determinant);
    pthread_barrier_destroy(&step_ready);
    pthread_barrier_destroy(&step_done);
    free(m);
    return 0;
}
