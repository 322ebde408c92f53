// about: main returns while one thread waits for ever, one spins politely and one sleeps.
// exit: 0
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static atomic_int turns;

static void *wait_for_ever(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    for (;;)
        pthread_cond_wait(&never, &lock);
    return NULL;
}

static void *spin_for_ever(void *arg) {
    (void)arg;
    for (;;) {
        atomic_fetch_add(&turns, 1);
        sched_yield();
    }
    return NULL;
}

static void *sleep_for_ever(void *arg) {
    (void)arg;
    for (;;)
        sleep(3600);
    return NULL;
}

int main(void) {
    pthread_t waiter, spinner, sleeper;
    pthread_create(&waiter, NULL, wait_for_ever, NULL);
    pthread_create(&spinner, NULL, spin_for_ever, NULL);
    pthread_create(&sleeper, NULL, sleep_for_ever, NULL);
    usleep(2000);
    puts("main leaves");
    return 0;
}
