// primitive: pthread_cond_timedwait, std::condition_variable::wait_until
// kind: race
// lines: 25 32
// tsan: misses it unless the timeout is reached in that run
// about: after half a second without news the consumer takes the item all the same, though it may be half made.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready, item;

static void *consume(void *arg) {
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_nsec += 500000000;
    deadline.tv_sec += deadline.tv_nsec / 1000000000;
    deadline.tv_nsec %= 1000000000;
    int error = 0;
    pthread_mutex_lock(&lock);
    while (!ready && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&changed, &lock, &deadline);
    *(int *)arg = item; // (1)
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *produce(void *arg) {
    (void)arg;
    item = 42; // (2)
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t consumer, producer;
    int got = 42;
    pthread_create(&consumer, NULL, consume, &got);
    pthread_create(&producer, NULL, produce, NULL);
    pthread_join(consumer, NULL);
    pthread_join(producer, NULL);
    printf("got %d\n", got);
    return 0;
}
