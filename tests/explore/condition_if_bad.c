// The consumer waits with `if`: it is woken for what somebody else has taken already.
#include <assert.h>
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
int items;

void *consumer(void *arg) {
    pthread_mutex_lock(&lock);
    if (items == 0)
        pthread_cond_wait(&ready, &lock);
    items--;
    assert(items >= 0);
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t one;
    pthread_create(&one, 0, consumer, 0);
    pthread_mutex_lock(&lock);
    items++;
    pthread_cond_signal(&ready);
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    if (items > 0)
        items--;
    pthread_mutex_unlock(&lock);
    pthread_join(one, 0);
    return 0;
}
