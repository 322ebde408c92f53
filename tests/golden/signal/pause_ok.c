// primitive: pause, sigsuspend
// kind: ok
// about: the signal is blocked from the check to the wait, which lets it in.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

static volatile sig_atomic_t heard;
static pthread_t listener;

static void on_signal(int number) { heard = number; }

static void *call(void *arg) {
    pthread_kill(listener, SIGUSR1);
    return arg;
}

int main(void) {
    pthread_t caller;
    sigset_t blocked, before;
    signal(SIGUSR1, on_signal);
    listener = pthread_self();
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    pthread_create(&caller, NULL, call, NULL);
    while (!heard) sigsuspend(&before);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_join(caller, NULL);
    printf("heard %d\n", heard == SIGUSR1);
    return 0;
}
