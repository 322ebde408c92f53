// primitive: pthread_cancel in pthread_cond_wait
// kind: deadlock
// lines: 17 24
// about: a thread cancelled in its wait has re-acquired the mutex and dies with it, so the next lock never returns.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void *wait_for_it(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    while (!ready)
        pthread_cond_wait(&changed, &lock); // (1)
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *provide(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock); // (2)
    ready = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t waiter, provider;
    pthread_create(&waiter, NULL, wait_for_it, NULL);
    pthread_create(&provider, NULL, provide, NULL);
    usleep(20000);
    pthread_cancel(waiter);
    pthread_join(waiter, NULL);
    pthread_join(provider, NULL);
    printf("ready %d\n", ready);
    return 0;
}
