// primitive: replay of timeouts
// kind: nondeterminism
// lines: 27 38
// exit: 0
// about: a consumer waits with a timeout for items that a sleepy producer may or may not deliver in time; the output counts both.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static int items, got, timeouts;

static void *consume(void *arg) {
    (void)arg;
    for (int i = 0; i < 4; i++) {
        struct timespec deadline;
        clock_gettime(CLOCK_REALTIME, &deadline);
        deadline.tv_nsec += 10000000;
        deadline.tv_sec += deadline.tv_nsec / 1000000000;
        deadline.tv_nsec %= 1000000000;
        int error = 0;
        pthread_mutex_lock(&lock);
        while (items == 0 && error != ETIMEDOUT)
            error = pthread_cond_timedwait(&arrived, &lock, &deadline);
        items > 0 ? (items--, got++) : timeouts++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *produce(void *arg) {
    (void)arg;
    for (int i = 0; i < 3; i++) {
        usleep(8000);
        pthread_mutex_lock(&lock);
        items++;
        pthread_cond_signal(&arrived);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t consumer, producer;
    pthread_create(&consumer, NULL, consume, NULL);
    pthread_create(&producer, NULL, produce, NULL);
    pthread_join(consumer, NULL);
    pthread_join(producer, NULL);
    printf("got %d, %d timeouts, %d left\n", got, timeouts, items);
    return 0;
}
