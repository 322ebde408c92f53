// primitive: using a destroyed mutex, std::mutex in freed memory
// kind: ok
// about: whoever comes last destroys the mutex, right after unlocking it, and its place is used again in three ways.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int users, rounds;

static void leave(void) {
    pthread_mutex_lock(&lock);
    int last = --users == 0;
    pthread_mutex_unlock(&lock);
    if (last) {
        pthread_mutex_destroy(&lock);
        rounds++;
    }
}

static void *work(void *arg) {
    leave();
    return arg;
}

int main(void) {
    for (int round = 0; round < 3; round++) {
        pthread_t worker;
        if (round == 1)
            pthread_mutex_init(&lock, NULL);
        if (round == 2)
            lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
        users = 2;
        pthread_create(&worker, NULL, work, NULL);
        leave();
        pthread_join(worker, NULL);
    }
    printf("rounds %d\n", rounds);
    return 0;
}
