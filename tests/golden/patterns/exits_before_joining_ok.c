// primitive: a thread never joined
// kind: ok
// about: one thread ends the process while main is about to join the others.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static sem_t done;

static void *work(void *arg) {
    (void)arg;
    sem_post(&done);
    return NULL;
}

static void *last(void *arg) {
    (void)arg;
    for (int i = 0; i < 4; i++)
        sem_wait(&done);
    puts("all worked");
    exit(0);
}

int main(void) {
    pthread_t workers[4], ends;
    sem_init(&done, 0, 0);
    pthread_create(&ends, NULL, last, NULL);
    for (int i = 0; i < 4; i++)
        pthread_create(&workers[i], NULL, work, NULL);
    pthread_join(ends, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(workers[i], NULL);
    return 0;
}
