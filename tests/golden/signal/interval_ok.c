// primitive: setitimer, periodic; sigsuspend
// kind: ok
// tsan: may miss or report: libtsan defers signal handlers
// about: each tick counts under no lock, which is right: the counter is atomic, and only read by the other thread.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/time.h>

static atomic_int ticks;

static void on_tick(int number) {
    (void)number;
    ticks++;
}

static void *watch(void *arg) {
    int seen = ticks;
    (void)arg;
    return (void *)(long)(seen < 0);
}

int main(void) {
    pthread_t watcher;
    sigset_t ticking, before;
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    struct itimerval period = {{0, 10000}, {0, 10000}}, none = {{0, 0}, {0, 0}}, left;
    void *wrong;
    // Only here, and only while waiting.
    sigemptyset(&ticking);
    sigaddset(&ticking, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &ticking, &before);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &period, NULL);
    pthread_create(&watcher, NULL, watch, NULL);
    while (ticks < 5)
        sigsuspend(&before);
    setitimer(ITIMER_REAL, &none, &left);
    pthread_join(watcher, &wrong);
    printf("ticks %d\n", ticks);
    return wrong != NULL || left.it_interval.tv_usec != 10000 || left.it_value.tv_usec == 0;
}
