// primitive: sigwait
// kind: race
// lines: 16 28
// tsan: may report: libtsan does not order a signal after its sending
// about: the order is written after the signal is sent.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

static sigset_t signals;
static int order;

static void *wait_for_order(void *arg) {
    int number;
    if (sigwait(&signals, &number) == 0 && number == SIGUSR1)
        *(int *)arg = order; // (1)
    return NULL;
}

int main(void) {
    pthread_t waiter;
    int seen = 0;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    pthread_create(&waiter, NULL, wait_for_order, &seen);
    pthread_kill(waiter, SIGUSR1);
    order = 66; // (2)
    pthread_join(waiter, NULL);
    printf("order %d\n", seen);
    return 0;
}
