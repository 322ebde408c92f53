// primitive: volatile
// kind: ok
// about: the flag is a volatile that is also under a lock.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int stop;

static void *work(void *arg) {
    int rounds = 0;
    for (int i = 0; i < 5; i++) {
        pthread_mutex_lock(&lock);
        int ended = stop;
        pthread_mutex_unlock(&lock);
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
    stop = 1;
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    printf("%s\n", rounds <= 5 ? "stopped" : "lost");
    return 0;
}
