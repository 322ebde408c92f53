// primitive: volatile
// kind: race
// lines: 14 28
// about: a volatile flag is taken for a synchronisation; it is a plain access.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int stop;

static void *work(void *arg) {
    int rounds = 0;
    for (int i = 0; i < 5; i++) {
        int ended = stop; // (1)
        if (ended)
            break;
        rounds++;
    }
    *(int *)arg = rounds;
    return NULL;
}

int main(void) {
    pthread_t worker;
    int rounds;
    pthread_create(&worker, NULL, work, &rounds);
    pthread_mutex_lock(&lock);
    stop = 1; // (2)
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    printf("%s\n", rounds <= 5 ? "stopped" : "lost");
    return 0;
}
