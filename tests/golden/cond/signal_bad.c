// primitive: pthread_cond_signal, std::condition_variable::notify_one
// kind: deadlock
// lines: 16 28
// about: the waiter waits without looking at the flag first; a signal that came first is lost and nobody sends another.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready, value;

static void *consume(void *arg) {
    pthread_mutex_lock(&lock);
    do
        pthread_cond_wait(&changed, &lock); // (1)
    while (!ready);
    *(int *)arg = value;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *produce(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    value = 42;
    ready = 1;
    pthread_cond_signal(&changed); // (2)
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t consumer, producer;
    int got = 0;
    pthread_create(&consumer, NULL, consume, &got);
    usleep(20000); // a head start for the consumer, which proves nothing
    pthread_create(&producer, NULL, produce, NULL);
    pthread_join(consumer, NULL);
    pthread_join(producer, NULL);
    printf("got %d\n", got);
    return 0;
}
