// kind: ok
// about: a consumer looks again after each wake-up
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { ITEMS = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int queue[ITEMS], length, taken;

static void *consume(void *unused) {
    pthread_mutex_lock(&lock);
    while (length == 0)
        pthread_cond_wait(&filled, &lock);
    assert(length > 0);
    taken += queue[--length];
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *produce(void *unused) {
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&lock);
        queue[length++] = i + 1;
        pthread_cond_broadcast(&filled);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(void) {
    pthread_t consumers[ITEMS], producer;
    for (int i = 0; i < ITEMS; i++)
        pthread_create(&consumers[i], NULL, consume, NULL);
    pthread_create(&producer, NULL, produce, NULL);
    for (int i = 0; i < ITEMS; i++)
        pthread_join(consumers[i], NULL);
    pthread_join(producer, NULL);
    printf("taken %d\n", taken);
    return 0;
}
