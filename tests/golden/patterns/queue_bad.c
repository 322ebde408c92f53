// primitive: producer/consumer queue
// kind: race
// lines: 19 38
// about: the consumer takes the item out of its slot after it has released the lock.
#include <pthread.h>
#include <stdio.h>

enum { SLOTS = 2, ITEMS = 4 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
static int slots[SLOTS], used, head;

static void *produce(void *arg) {
    (void)arg;
    for (int i = 1; i <= ITEMS; i++) {
        pthread_mutex_lock(&lock);
        while (used == SLOTS)
            pthread_cond_wait(&not_full, &lock);
        slots[(head + used) % SLOTS] = i; // (1)
        used++;
        pthread_cond_signal(&not_empty);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *consume(void *arg) {
    int sum = 0;
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&lock);
        while (used == 0)
            pthread_cond_wait(&not_empty, &lock);
        int slot = head;
        head = (head + 1) % SLOTS;
        used--;
        pthread_cond_signal(&not_full);
        pthread_mutex_unlock(&lock);
        sum += slots[slot]; // (2)
    }
    *(int *)arg = sum;
    return NULL;
}

int main(void) {
    pthread_t producer, consumer;
    int sum;
    pthread_create(&producer, NULL, produce, NULL);
    pthread_create(&consumer, NULL, consume, &sum);
    pthread_join(producer, NULL);
    pthread_join(consumer, NULL);
    printf("sum %d\n", sum);
    return 0;
}
