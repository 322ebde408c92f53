// primitive: using a destroyed condition variable
// kind: misuse
// lines: 16 28
// about: the signal comes after the mutex is free: whoever sees the flag may have destroyed the condition variable by then.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready;
static int done;

static void *work(void *arg) {
    pthread_mutex_lock(&lock);
    done = 1;
    pthread_mutex_unlock(&lock);
    pthread_cond_signal(&ready); // (1)
    return arg;
}

int main(void) {
    pthread_t worker;
    pthread_cond_init(&ready, NULL);
    pthread_create(&worker, NULL, work, NULL);
    pthread_mutex_lock(&lock);
    while (!done)
        pthread_cond_wait(&ready, &lock);
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&ready); // (2)
    pthread_join(worker, NULL);
    printf("done %d\n", done);
    return 0;
}
