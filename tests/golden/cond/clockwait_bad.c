// primitive: pthread_cond_clockwait, std::condition_variable::wait_for
// kind: race
// lines: 36 18
// tsan: misses it unless the timeout is reached in that run
// about: a consumer that times out on the monotonic clock takes the item all the same.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready, item;

static void *produce(void *arg) {
    (void)arg;
    item = 42; // (2)
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t producer;
    int got = 42, error = 0;
    pthread_create(&producer, NULL, produce, NULL);
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += 1;
    pthread_mutex_lock(&lock);
    while (!ready && error != ETIMEDOUT)
        error = pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &deadline);
    got = item; // (1)
    pthread_mutex_unlock(&lock);
    pthread_join(producer, NULL);
    printf("got %d\n", got);
    return 0;
}
