// primitive: pthread_rwlock_timedrdlock, pthread_rwlock_timedwrlock, std::shared_timed_mutex
// kind: race
// lines: 26 36
// tsan: misses it unless the timeout is reached in that run
// about: a writer that timed out writes all the same.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int setting = 1;

static struct timespec half_a_second_from_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += 500000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

static void *watch(void *arg) {
    struct timespec deadline = half_a_second_from_now();
    if (pthread_rwlock_timedrdlock(&lock, &deadline) == 0) {
        *(int *)arg = setting; // (1)
        pthread_rwlock_unlock(&lock);
    }
    return NULL;
}

static void *change(void *arg) {
    (void)arg;
    struct timespec deadline = half_a_second_from_now();
    int owned = pthread_rwlock_timedwrlock(&lock, &deadline) == 0;
    setting = 2; // (2)
    if (owned)
        pthread_rwlock_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t watcher, changer;
    int seen = 1;
    pthread_create(&watcher, NULL, watch, &seen);
    pthread_create(&changer, NULL, change, NULL);
    pthread_join(watcher, NULL);
    pthread_join(changer, NULL);
    printf("%s\n", seen == 1 || seen == 2 ? "valid" : "invalid");
    return 0;
}
