// primitive: sem_timedwait, std::counting_semaphore::try_acquire_for
// kind: race
// lines: 18 34
// tsan: misses it unless the timeout is reached in that run
// about: a timed-out wait reads the message all the same.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static sem_t arrived;
static int message = 1;

static void *deliver(void *arg) {
    (void)arg;
    usleep(1000);
    message = 2; // (1)
    sem_post(&arrived);
    return NULL;
}

int main(void) {
    pthread_t sender;
    int seen = 1;
    sem_init(&arrived, 0, 0);
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_nsec += 500000000;
    deadline.tv_sec += deadline.tv_nsec / 1000000000;
    deadline.tv_nsec %= 1000000000;
    pthread_create(&sender, NULL, deliver, NULL);
    int late = sem_timedwait(&arrived, &deadline) != 0;
    seen = message; // (2)
    pthread_join(sender, NULL);
    sem_destroy(&arrived);
    printf("%s %d\n", late ? "late" : "in time", seen);
    return 0;
}
