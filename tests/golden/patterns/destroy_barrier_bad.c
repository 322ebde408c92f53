// primitive: using a destroyed barrier
// kind: misuse
// lines: 11 21
// about: the barrier lets two through at a time: the main thread may be through before the others arrive.
#include <pthread.h>
#include <stdio.h>

static pthread_barrier_t barrier;

static void *work(void *arg) {
    pthread_barrier_wait(&barrier); // (1)
    return arg;
}

int main(void) {
    pthread_t workers[3];
    pthread_barrier_init(&barrier, NULL, 2);
    for (int i = 0; i < 3; i++)
        pthread_create(&workers[i], NULL, work, NULL);
    pthread_barrier_wait(&barrier);
    pthread_barrier_destroy(&barrier); // (2)
    for (int i = 0; i < 3; i++)
        pthread_join(workers[i], NULL);
    printf("through\n");
    return 0;
}
