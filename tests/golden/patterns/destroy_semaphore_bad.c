// primitive: using a destroyed semaphore
// kind: misuse
// lines: 13 24
// about: the main thread waits for one of two posts, and destroys both semaphores.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static sem_t half, whole;

static void *work(void *arg) {
    sem_post(&half);
    sem_post(&whole); // (1)
    return arg;
}

int main(void) {
    pthread_t worker;
    sem_init(&half, 0, 0);
    sem_init(&whole, 0, 0);
    pthread_create(&worker, NULL, work, NULL);
    sem_wait(&half);
    sem_destroy(&half);
    sem_destroy(&whole); // (2)
    pthread_join(worker, NULL);
    printf("done\n");
    return 0;
}
