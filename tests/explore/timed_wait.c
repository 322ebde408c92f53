// A wait that may give up.
#include <errno.h>
#include <pthread.h>
#include <time.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
int value;

void *producer(void *arg) {
    pthread_mutex_lock(&lock);
    value = 1;
    pthread_cond_signal(&ready);
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t one;
    struct timespec later = {.tv_sec = 4000000000};
    int gave_up = 0;
    pthread_create(&one, 0, producer, 0);
    pthread_mutex_lock(&lock);
    while (value == 0 && !gave_up)
        gave_up = pthread_cond_timedwait(&ready, &lock, &later) == ETIMEDOUT;
    pthread_mutex_unlock(&lock);
    pthread_join(one, 0);
    return gave_up;
}
