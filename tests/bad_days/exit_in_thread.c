// about: a thread ends the process by _exit while main waits for it and another thread works.
// exit: 5
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

static sem_t never;
static int count;

static void *wait_for_ever(void *arg) {
    (void)arg;
    sem_wait(&never);
    return NULL;
}

static void *leave(void *arg) {
    (void)arg;
    count++;
    _exit(count + 4);
}

int main(void) {
    pthread_t waiter, leaver;
    sem_init(&never, 0, 0);
    pthread_create(&waiter, NULL, wait_for_ever, NULL);
    pthread_create(&leaver, NULL, leave, NULL);
    pthread_join(waiter, NULL);
    puts("not reached");
    return 0;
}
