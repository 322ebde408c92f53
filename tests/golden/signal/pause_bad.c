// primitive: pause, sigsuspend
// kind: deadlock
// lines: 26
// exit: 0 hang
// about: the signal may come between the check and the pause, which then waits for ever.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile sig_atomic_t heard;
static pthread_t listener;

static void on_signal(int number) { heard = number; }

static void *call(void *arg) {
    pthread_kill(listener, SIGUSR1);
    return arg;
}

int main(void) {
    pthread_t caller;
    signal(SIGUSR1, on_signal);
    listener = pthread_self();
    pthread_create(&caller, NULL, call, NULL);
    if (!heard) pause();
    pthread_join(caller, NULL);
    printf("heard %d\n", heard == SIGUSR1);
    return 0;
}
