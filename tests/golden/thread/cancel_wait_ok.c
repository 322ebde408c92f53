// primitive: pthread_cancel in pthread_cond_wait
// kind: ok
// about: a cleanup handler gives the mutex back when the wait is cancelled.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void give_back(void *mutex) {
    pthread_mutex_unlock(mutex);
}

static void *wait_for_it(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(give_back, &lock);
    while (!ready)
        pthread_cond_wait(&changed, &lock);
    pthread_cleanup_pop(1);
    return NULL;
}

static void *provide(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
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
