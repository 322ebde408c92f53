// primitive: using a destroyed condition variable
// kind: ok
// about: the signal comes before the mutex is free, and whoever has been woken needs the condition variable no more.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready, left;
static int done, waiting;

static void *work(void *arg) {
    pthread_mutex_lock(&lock);
    waiting++;
    pthread_cond_signal(&left);
    while (!done)
        pthread_cond_wait(&ready, &lock);
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t worker;
    pthread_cond_init(&ready, NULL);
    pthread_cond_init(&left, NULL);
    pthread_create(&worker, NULL, work, NULL);
    pthread_mutex_lock(&lock);
    while (!waiting)
        pthread_cond_wait(&left, &lock);
    done = 1;
    pthread_cond_broadcast(&ready);
    pthread_cond_destroy(&ready);
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&left);
    pthread_join(worker, NULL);
    printf("done %d\n", done);
    return 0;
}
