// primitive: SIGALRM from a timer
// kind: ok
// tsan: may miss or report: libtsan defers signal handlers
// about: the handler of the alarm only raises a lock-free atomic and posts a semaphore.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/time.h>

static sem_t rung;
static atomic_int ticks;

static void on_alarm(int number) {
    (void)number;
    ticks++;
    sem_post(&rung);
}

static void *tick(void *arg) {
    sigset_t alarms;
    (void)arg;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    ticks++;
    return NULL;
}

int main(void) {
    pthread_t ticker;
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval once = {{0, 0}, {0, 5000}};
    sem_init(&rung, 0, 0);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &once, NULL);
    pthread_create(&ticker, NULL, tick, NULL);
    while (sem_wait(&rung) != 0 && errno == EINTR)
        ;
    pthread_join(ticker, NULL);
    printf("ticks %d\n", ticks);
    return 0;
}
