// primitive: sigwait
// kind: ok
// tsan: may report: libtsan does not order a signal after its sending
// about: what was written before the signal was sent is there once sigwait has returned.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

static sigset_t signals;
static int order;

static void *wait_for_order(void *arg) {
    int number;
    if (sigwait(&signals, &number) == 0 && number == SIGUSR1)
        *(int *)arg = order;
    return NULL;
}

int main(void) {
    pthread_t waiter;
    int seen = 0;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    pthread_create(&waiter, NULL, wait_for_order, &seen);
    order = 66;
    pthread_kill(waiter, SIGUSR1);
    pthread_join(waiter, NULL);
    printf("order %d\n", seen);
    return 0;
}
