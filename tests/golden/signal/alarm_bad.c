// primitive: alarm, pause
// kind: race
// lines: 15 25
// tsan: may miss or report: libtsan defers signal handlers
// about: the message is written after the alarm was set, whose handler reads it on another thread.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static int message, heard;

static void on_alarm(int number) {
    (void)number;
    heard = message; // (1)
}

static void *ring_later(void *arg) {
    sigset_t alarms;
    (void)arg;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    alarm(1);
    message = 1; // (2)
    return NULL;
}

int main(void) {
    pthread_t ringer;
    signal(SIGALRM, on_alarm);
    pthread_create(&ringer, NULL, ring_later, NULL);
    pause();
    pthread_join(ringer, NULL);
    printf("heard %d\n", heard);
    return 0;
}
