// primitive: a thread never joined
// kind: misuse
// lines: 20
// tsan: reports a thread leak
// about: the thread of every round is neither joined nor detached; main waits for it by other means, and goes on.
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
    pthread_t worker;
    sem_init(&done, 0, 0);
    for (int round = 0; round < 5; round++) {
        pthread_create(&worker, NULL, work, NULL); // (1)
        sem_wait(&done);
    }
    puts("all worked");
    return 0;
}
