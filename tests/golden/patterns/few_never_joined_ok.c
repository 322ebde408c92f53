// primitive: a thread never joined
// kind: ok
// about: two threads are not joined, and the end of the process takes care of them: there are no more and more of them.
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
    pthread_t first, second, third;
    sem_init(&done, 0, 0);
    pthread_create(&first, NULL, work, NULL);
    pthread_create(&second, NULL, work, NULL);
    pthread_create(&third, NULL, work, NULL);
    for (int i = 0; i < 3; i++)
        sem_wait(&done);
    pthread_join(first, NULL);
    puts("all worked");
    return 0;
}
