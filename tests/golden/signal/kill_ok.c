// primitive: pthread_kill with a handler
// kind: ok
// tsan: may miss or report: libtsan defers signal handlers
// about: the handler posts a semaphore, which hands the value over; the sender waits for it.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>

static sem_t handled, stop;
static int calls;

static void on_signal(int number) {
    (void)number;
    calls++;
    sem_post(&handled);
}

static void *work(void *arg) {
    (void)arg;
    while (sem_wait(&stop) != 0 && errno == EINTR)
        ;
    return NULL;
}

int main(void) {
    pthread_t worker;
    struct sigaction action = {.sa_handler = on_signal};
    sem_init(&handled, 0, 0);
    sem_init(&stop, 0, 0);
    sigaction(SIGUSR1, &action, NULL);
    pthread_create(&worker, NULL, work, NULL);
    pthread_kill(worker, SIGUSR1);
    while (sem_wait(&handled) != 0 && errno == EINTR)
        ;
    int seen = calls;
    sem_post(&stop);
    pthread_join(worker, NULL);
    printf("calls %d\n", seen);
    return 0;
}
