// about: small functions that are called for every element: entering and leaving costs as much as the accesses.
// usage: calls [rounds=400] [threads=2]
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_THREADS = 64, CELLS = 4096 };

static int rounds = 400, threads = 2;
static double left[CELLS], right[CELLS], sums[MAX_THREADS];

static __attribute__((noinline)) double get(const double *from, int i) { return from[i]; }

static __attribute__((noinline)) void add(int me, double what) { sums[me] += what; }

static void *work(void *arg) {
    int me = (int)(intptr_t)arg;
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < CELLS; i++) add(me, get(left, i) * get(right, (i * 7 + round) % CELLS));
    return NULL;
}

int main(int argc, char **argv) {
    if (argc > 1) rounds = atoi(argv[1]);
    if (argc > 2) threads = atoi(argv[2]);
    if (rounds < 1 || threads < 1 || threads > MAX_THREADS) {
        fprintf(stderr, "usage: calls [rounds] [threads 1..%d]\n", MAX_THREADS);
        return 2;
    }
    for (int i = 0; i < CELLS; i++) left[i] = i, right[i] = CELLS - i;
    pthread_t thread[MAX_THREADS];
    for (intptr_t i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, work, (void *)i)) return 2;
    double sum = 0;
    for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL), sum += sums[i];
    printf("%g\n", sum);
    return 0;
}
