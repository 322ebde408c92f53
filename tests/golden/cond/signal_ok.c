// primitive: pthread_cond_signal, std::condition_variable::notify_one
// kind: ok
// about: the waiter checks the flag under the lock before it waits, so a signal that came first is not lost.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready, value;

static void *consume(void *arg) {
    pthread_mutex_lock(&lock);
    while (!ready)
        pthread_cond_wait(&changed, &lock);
    *(int *)arg = value;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *produce(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    value = 42;
    ready = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t consumer, producer;
    int got = 0;
    pthread_create(&consumer, NULL, consume, &got);
    pthread_create(&producer, NULL, produce, NULL);
    pthread_join(consumer, NULL);
    pthread_join(producer, NULL);
    printf("got %d\n", got);
    return 0;
}
