// about: a thread spins on a plain volatile flag, yielding each time round, until main sets it.
// exit: 0
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

static volatile int go;

static void *wait_for_go(void *arg) {
    (void)arg;
    while (!go)
        sched_yield();
    return NULL;
}

int main(void) {
    pthread_t waiter;
    pthread_create(&waiter, NULL, wait_for_go, NULL);
    go = 1;
    pthread_join(waiter, NULL);
    puts("gone");
    return 0;
}
