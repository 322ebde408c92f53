// primitive: pthread_mutex_clocklock, std::timed_mutex::try_lock_until
// kind: race
// lines: 23 23
// tsan: may report: older libtsan does not know this call
// about: the result of the clock lock is used only to decide whether to unlock.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int visits;

static void *visit(void *arg) {
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_nsec += 500000000;
    if (deadline.tv_nsec >= 1000000000) {
        deadline.tv_nsec -= 1000000000;
        deadline.tv_sec++;
    }
    int owned = pthread_mutex_clocklock(&lock, CLOCK_MONOTONIC, &deadline) == 0;
    visits++; // (1) (2)
    if (owned)
        pthread_mutex_unlock(&lock);
    *(int *)arg = owned;
    return NULL;
}

int main(void) {
    pthread_t team[2];
    int owned[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, visit, &owned[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    printf("%s\n", visits == 2 ? "counted" : "miscounted");
    return 0;
}
