// primitive: alarm, pause
// kind: ok
// tsan: may report: libtsan does not order a handler after the alarm was set
// about: what was written before the alarm was set is there when it goes off, on another thread.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static int message, heard;

static void on_alarm(int number) {
    (void)number;
    heard = message;
}

static void *ring_later(void *arg) {
    sigset_t alarms;
    (void)arg;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    message = 1;
    alarm(1);
    return NULL;
}

int main(void) {
    pthread_t ringer;
    signal(SIGALRM, on_alarm);
    pthread_create(&ringer, NULL, ring_later, NULL);
    pause();
    pthread_join(ringer, NULL);
    printf("heard %d\n", heard);
    return heard != 1;
}
