// A condition variable used as it should be.
#include <assert.h>
#include <pthread.h>

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
    pthread_create(&one, 0, producer, 0);
    pthread_mutex_lock(&lock);
    while (value == 0)
        pthread_cond_wait(&ready, &lock);
    pthread_mutex_unlock(&lock);
    pthread_join(one, 0);
    assert(value == 1);
    return 0;
}
