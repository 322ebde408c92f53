// primitive: ppoll, pselect, epoll_pwait
// kind: ok
// tsan: may report: libtsan does not order a signal after its sending
// about: the handler runs only where the mask of the wait lets it in, so what it shares with main needs no lock.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>

static volatile int calls;
static pthread_t listener;

static void on_signal(int number) {
    (void)number;
    calls = calls + 1;
}

static void *call(void *arg) {
    pthread_kill(listener, SIGUSR1);
    return arg;
}

/// Waits with a call for the signal of a thread, which wants the call to go on: these end all the same.
static void await(int way, const sigset_t *mask) {
    pthread_t caller;
    struct epoll_event none;
    int before = calls, status = 0, queue = epoll_create1(0);
    if (pthread_create(&caller, NULL, call, NULL) != 0) abort();
    while (calls == before) {
        switch (way) {
        case 0: status = ppoll(NULL, 0, NULL, mask); break;
        case 1: status = pselect(0, NULL, NULL, NULL, NULL, mask); break;
        default: status = epoll_pwait(queue, &none, 1, -1, mask);
        }
        if (status != -1 || errno != EINTR) abort();
    }
    int seen = calls;
    pthread_join(caller, NULL);
    if (calls != seen || seen != before + 1) abort();
}

int main(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigset_t blocked, before;
    sigaction(SIGUSR1, &action, NULL);
    listener = pthread_self();
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    for (int way = 0; way < 3; way++) await(way, &before);
    printf("%d signals\n", calls);
    return 0;
}
