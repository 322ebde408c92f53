// primitive: pthread_barrier_wait, std::barrier
// kind: race
// lines: 17 20
// tsan: may miss it: libtsan joins the clocks of successive rounds of one barrier
// about: one barrier a round: a fast thread writes its cell for the next round while its neighbour still reads it.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { WORKERS = 3, ROUNDS = 2 };
static pthread_barrier_t written;
static int cell[WORKERS], sums[WORKERS], serial[WORKERS];

static void *work(void *arg) {
    int me = (int)(intptr_t)arg;
    for (int round = 1; round <= ROUNDS; round++) {
        cell[me] = round * 10 + me; // (1)
        if (pthread_barrier_wait(&written) == PTHREAD_BARRIER_SERIAL_THREAD)
            serial[me]++;
        sums[me] += cell[(me + 1) % WORKERS]; // (2)
    }
    return NULL;
}

int main(void) {
    pthread_t team[WORKERS];
    int sum = 0, serials = 0;
    pthread_barrier_init(&written, NULL, WORKERS);
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&team[i], NULL, work, (void *)(intptr_t)i);
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(team[i], NULL);
        sum += sums[i];
        serials += serial[i];
    }
    pthread_barrier_destroy(&written);
    printf("sum %d, %d serial\n", sum, serials);
    return 0;
}
