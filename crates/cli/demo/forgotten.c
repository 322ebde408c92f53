// In every round a messenger is sent off and never waited for: they pile up.
// Build: reweave cc -g -o forgotten forgotten.c -lpthread
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

enum { ROUNDS = 5 };

static sem_t delivered;

static void *deliver(void *unused) {
    (void)unused;
    sem_post(&delivered);
    return NULL;
}

int main(void) {
    sem_init(&delivered, 0, 0);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_t messenger;
        pthread_create(&messenger, NULL, deliver, NULL); // the bug: neither joined nor detached
        sem_wait(&delivered);
    }
    printf("all delivered\n");
    return 0;
}
