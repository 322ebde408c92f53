// primitive: replay of a deadlock
// kind: deadlock
// lines: 20 20
// exit: 0 hang
// about: three threads pass two tokens round in a ring of locks; with an unlucky schedule each holds one and waits for the next.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { RING = 3, ROUNDS = 2 };
static pthread_mutex_t token[RING] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int order[RING * ROUNDS], passed;
static pthread_mutex_t order_lock = PTHREAD_MUTEX_INITIALIZER;

static void *pass(void *arg) {
    int me = (int)(intptr_t)arg;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&token[me]);
        int next = (me + 1) % RING;
        pthread_mutex_lock(&token[next]);
        pthread_mutex_lock(&order_lock);
        order[passed++] = me;
        pthread_mutex_unlock(&order_lock);
        pthread_mutex_unlock(&token[next]);
        pthread_mutex_unlock(&token[me]);
    }
    return NULL;
}

int main(void) {
    pthread_t team[RING];
    for (intptr_t i = 0; i < RING; i++)
        pthread_create(&team[i], NULL, pass, (void *)i);
    for (int i = 0; i < RING; i++)
        pthread_join(team[i], NULL);
    for (int i = 0; i < passed; i++)
        printf("%d%c", order[i], i + 1 < passed ? ' ' : '\n');
    return 0;
}
