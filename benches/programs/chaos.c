// about: a thousand functions called at random, each touching random cells: nothing can be foreseen.
// usage: chaos [calls per thread=200000] [threads=2]
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_THREADS = 64, CELLS = 1 << 16 };

static int calls = 200000, threads = 2;
static uint32_t cells[MAX_THREADS][CELLS];

#define ONE(n)                                                                     \
    static __attribute__((noinline)) void f##n(uint32_t *own, uint32_t random) {   \
        own[random % CELLS] += own[(random >> 8) % CELLS] ^ (own[random >> 16] + 1##n); \
    }
#define TEN(n) ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)
#define HUNDRED(n) TEN(n##0) TEN(n##1) TEN(n##2) TEN(n##3) TEN(n##4) TEN(n##5) TEN(n##6) TEN(n##7) TEN(n##8) TEN(n##9)
HUNDRED(0) HUNDRED(1) HUNDRED(2) HUNDRED(3) HUNDRED(4) HUNDRED(5) HUNDRED(6) HUNDRED(7) HUNDRED(8) HUNDRED(9)
#undef ONE
#define ONE(n) f##n,
static void (*const all[])(uint32_t *, uint32_t) = {
    HUNDRED(0) HUNDRED(1) HUNDRED(2) HUNDRED(3) HUNDRED(4) HUNDRED(5) HUNDRED(6) HUNDRED(7) HUNDRED(8) HUNDRED(9)};

static void *work(void *arg) {
    int me = (int)(intptr_t)arg;
    uint64_t state = 88172645463325252u + (uint64_t)me;
    for (int i = 0; i < calls; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        all[(state >> 20) % (sizeof all / sizeof *all)](cells[me], (uint32_t)(state >> 32));
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc > 1) calls = atoi(argv[1]);
    if (argc > 2) threads = atoi(argv[2]);
    if (calls < 1 || threads < 1 || threads > MAX_THREADS) {
        fprintf(stderr, "usage: chaos [calls] [threads 1..%d]\n", MAX_THREADS);
        return 2;
    }
    pthread_t thread[MAX_THREADS];
    for (intptr_t i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, work, (void *)i)) return 2;
    uint32_t sum = 0;
    for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL), sum += cells[i][0];
    printf("%u\n", sum);
    return 0;
}
