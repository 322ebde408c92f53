// primitive: a thread never joined
// kind: misuse
// lines: 21 22
// tsan: reports a thread leak
// about: the second thread is neither joined nor detached; main waits for it by other means.
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
    pthread_create(&first, NULL, work, NULL); // (1)
    pthread_create(&second, NULL, work, NULL); // (2)
    sem_wait(&done);
    sem_wait(&done);
    pthread_join(first, NULL);
    puts("both worked");
    return 0;
}
