// primitive: timed waits that always time out
// kind: race
// lines: 20 45
// tsan: misses it in most runs: the lock happens to order the two
// about: the thread that waits out its timeouts reads the counter without a lock.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t empty;
static int counter;

static void *count(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    counter++; // (1)
    pthread_mutex_unlock(&lock);
    return NULL;
}

static struct timespec soon(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += 500000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

int main(void) {
    pthread_t counting;
    int timeouts = 0;
    sem_init(&empty, 0, 0);
    pthread_create(&counting, NULL, count, NULL);
    struct timespec deadline = soon();
    pthread_mutex_lock(&lock);
    while (pthread_cond_timedwait(&never, &lock, &deadline) != ETIMEDOUT)
        ;
    timeouts++;
    pthread_mutex_unlock(&lock);
    int seen = counter; // (2)
    deadline = soon();
    timeouts += sem_timedwait(&empty, &deadline) != 0 && errno == ETIMEDOUT;
    pthread_join(counting, NULL);
    printf("%d timeouts, %s\n", timeouts, seen == 0 || seen == 1 ? "valid" : "torn");
    return 0;
}
