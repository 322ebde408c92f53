// primitive: replay of a queue
// kind: nondeterminism
// lines: 20 33
// exit: 0
// about: two producers and two consumers share a small queue; who gets which item depends on the schedule.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { SLOTS = 2, PER_PRODUCER = 3 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
static int slots[SLOTS], head, used;

static void *produce(void *arg) {
    for (int i = 0; i < PER_PRODUCER; i++) {
        pthread_mutex_lock(&lock);
        while (used == SLOTS)
            pthread_cond_wait(&not_full, &lock);
        slots[(head + used++) % SLOTS] = (int)(intptr_t)arg * 10 + i;
        pthread_cond_signal(&not_empty);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *consume(void *arg) {
    int *taken = arg;
    for (int i = 0; i < PER_PRODUCER; i++) {
        pthread_mutex_lock(&lock);
        while (used == 0)
            pthread_cond_wait(&not_empty, &lock);
        taken[i] = slots[head];
        head = (head + 1) % SLOTS;
        used--;
        pthread_cond_signal(&not_full);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t producers[2], consumers[2];
    int taken[2][PER_PRODUCER];
    for (intptr_t i = 0; i < 2; i++) {
        pthread_create(&producers[i], NULL, produce, (void *)(i + 1));
        pthread_create(&consumers[i], NULL, consume, taken[i]);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(producers[i], NULL);
        pthread_join(consumers[i], NULL);
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < PER_PRODUCER; j++)
            printf("%d%c", taken[i][j], j + 1 < PER_PRODUCER ? ' ' : i ? '\n' : '/');
    return 0;
}
