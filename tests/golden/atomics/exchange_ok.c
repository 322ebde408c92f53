// primitive: atomic_exchange, std::atomic::exchange
// kind: ok
// about: the mailbox is emptied by one exchange, so that each letter has one taker.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static int letters[1] = {5};
static _Atomic(int *) mailbox = letters;

static void *take(void *arg) {
    int *mine = atomic_exchange(&mailbox, NULL);
    *(int *)arg = mine ? *mine : 0;
    return NULL;
}

int main(void) {
    pthread_t team[2];
    int got[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, take, &got[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    printf("got %d\n", got[0] + got[1]);
    return 0;
}
