// primitive: a thread never joined
// kind: ok
// about: both threads are joined.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static sem_t done;

static void *work(void *arg) {
    (void)arg;
    sem_post(&done);
    return NULL;
}

int main(void) {
    pthread_t first, second;
    sem_init(&done, 0, 0);
    pthread_create(&first, NULL, work, NULL);
    pthread_create(&second, NULL, work, NULL);
    sem_wait(&done);
    sem_wait(&done);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    puts("both worked");
    return 0;
}
