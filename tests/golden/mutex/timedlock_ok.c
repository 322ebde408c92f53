// primitive: pthread_mutex_timedlock, std::timed_mutex
// kind: ok
// about: a timeout means that the reading is skipped.
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int level = 1;

static void *fill(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    struct timespec slow = {0, 5000000};
    nanosleep(&slow, NULL);
    level = 10;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *look(void *arg) {
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 1;
    if (pthread_mutex_timedlock(&lock, &deadline) != 0)
        return NULL;
    *(int *)arg = level;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t filler, looker;
    int seen = 1;
    pthread_create(&filler, NULL, fill, NULL);
    pthread_create(&looker, NULL, look, &seen);
    pthread_join(filler, NULL);
    pthread_join(looker, NULL);
    printf("%s\n", seen == 1 || seen == 10 ? "plausible" : "nonsense");
    return 0;
}
