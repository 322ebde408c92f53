// primitive: replay of signals
// kind: nondeterminism
// lines: 19 30
// exit: 0
// about: signals from two threads interrupt a third at whatever point it has reached; the output shows how far it was.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int step, first_at = -1, calls;
static pthread_t target;
static sem_t ready;

static void on_signal(int number) {
    (void)number;
    int nowhere = -1;
    atomic_compare_exchange_strong(&first_at, &nowhere, atomic_load(&step));
    atomic_fetch_add(&calls, 1);
}

static void *work(void *arg) {
    (void)arg;
    target = pthread_self();
    sem_post(&ready);
    sem_post(&ready);
    // Ends by itself after a few steps, or once both signals have come.
    for (int i = 0; i < 60 && atomic_load(&calls) < 2; i++)
        atomic_fetch_add(&step, 1);
    return NULL;
}

static void *interrupt(void *arg) {
    (void)arg;
    sem_wait(&ready);
    pthread_kill(target, SIGUSR1);
    return NULL;
}

int main(void) {
    pthread_t worker, senders[2];
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    sem_init(&ready, 0, 0);
    pthread_create(&worker, NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_create(&senders[i], NULL, interrupt, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(senders[i], NULL);
    pthread_join(worker, NULL);
    printf("first at step %d, %d calls\n", atomic_load(&first_at), atomic_load(&calls));
    return 0;
}
