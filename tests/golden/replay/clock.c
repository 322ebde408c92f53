// primitive: replay of clocks
// kind: nondeterminism
// lines: 30 35
// exit: 0
// about: what the threads do depends on the clocks they read and on how long they slept; the output shows the times.
#include <pthread.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long long total, even;

static long long now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void *work(void *arg) {
    (void)arg;
    for (int i = 0; i < 3; i++) {
        long long start = now(CLOCK_MONOTONIC);
        usleep(500);
        long long spent = now(CLOCK_MONOTONIC) - start;
        struct timeval t;
        gettimeofday(&t, NULL);
        pthread_mutex_lock(&lock);
        total += spent;
        pthread_mutex_unlock(&lock);
        // The last digit of the time decides which way to go.
        if (t.tv_usec % 2 == 0) {
            pthread_mutex_lock(&lock);
            even += t.tv_usec;
            pthread_mutex_unlock(&lock);
        }
    }
    return NULL;
}

int main(void) {
    pthread_t first, second;
    long long start = now(CLOCK_REALTIME);
    pthread_create(&first, NULL, work, NULL);
    pthread_create(&second, NULL, work, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    printf("started %lld (%ld), slept %lld, even %lld\n", start, (long)time(NULL), total, even);
    return 0;
}
