// primitive: using a destroyed barrier
// kind: ok
// about: whoever is through may destroy the barrier, although the others have not left it yet; then there is a new one.
#include <pthread.h>
#include <stdio.h>

static pthread_barrier_t barrier;

static void *work(void *arg) {
    pthread_barrier_wait(&barrier);
    return arg;
}

int main(void) {
    for (int round = 0; round < 2; round++) {
        pthread_t workers[2];
        pthread_barrier_init(&barrier, NULL, 3);
        for (int i = 0; i < 2; i++)
            pthread_create(&workers[i], NULL, work, NULL);
        pthread_barrier_wait(&barrier);
        pthread_barrier_destroy(&barrier);
        for (int i = 0; i < 2; i++)
            pthread_join(workers[i], NULL);
    }
    printf("through\n");
    return 0;
}
