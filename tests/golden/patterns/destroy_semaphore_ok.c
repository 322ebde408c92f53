// primitive: using a destroyed semaphore
// kind: ok
// about: whoever has taken the last post may destroy the semaphores.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static sem_t half, whole;

static void *work(void *arg) {
    sem_post(&half);
    sem_post(&whole);
    return arg;
}

int main(void) {
    for (int round = 0; round < 2; round++) {
        pthread_t worker;
        sem_init(&half, 0, 0);
        sem_init(&whole, 0, 0);
        pthread_create(&worker, NULL, work, NULL);
        sem_wait(&half);
        sem_destroy(&half);
        sem_wait(&whole);
        sem_destroy(&whole);
        pthread_join(worker, NULL);
    }
    printf("done\n");
    return 0;
}
