// about: bounded producer/consumer queue: one mutex, two condition variables, a broadcast to end.
// usage: queue [items per producer=300000] [threads=2: half produce, half consume] [capacity=64]
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_THREADS = 64, MAX_CAPACITY = 4096 };

static int items = 300000, threads = 2, capacity = 64;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
static uint64_t ring[MAX_CAPACITY];
static int head, used, producing;

static void put(uint64_t item) {
    pthread_mutex_lock(&lock);
    while (used == capacity)
        pthread_cond_wait(&not_full, &lock);
    ring[(head + used++) % capacity] = item;
    pthread_cond_signal(&not_empty);
    pthread_mutex_unlock(&lock);
}

// False once all producers have ended and the ring is empty.
static int get(uint64_t *item) {
    pthread_mutex_lock(&lock);
    while (used == 0 && producing > 0)
        pthread_cond_wait(&not_empty, &lock);
    int some = used > 0;
    if (some) {
        *item = ring[head];
        head = (head + 1) % capacity;
        used--;
        pthread_cond_signal(&not_full);
    }
    pthread_mutex_unlock(&lock);
    return some;
}

static void *produce(void *arg) {
    uint64_t me = (uint64_t)(uintptr_t)arg;
    for (int i = 0; i < items; i++)
        put((me << 32 | (uint64_t)i) * 0x9e3779b97f4a7c15u);
    pthread_mutex_lock(&lock);
    if (--producing == 0)
        pthread_cond_broadcast(&not_empty);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *consume(void *arg) {
    uint64_t sum = 0, item;
    while (get(&item))
        sum += item ^ item >> 29;
    *(uint64_t *)arg = sum;
    return NULL;
}

int main(int argc, char **argv) {
    if (argc > 1) items = atoi(argv[1]);
    if (argc > 2) threads = atoi(argv[2]);
    if (argc > 3) capacity = atoi(argv[3]);
    if (items < 0 || threads < 2 || threads > MAX_THREADS || capacity < 1 || capacity > MAX_CAPACITY) {
        fprintf(stderr, "usage: queue [items] [threads 2..%d] [capacity 1..%d]\n", MAX_THREADS, MAX_CAPACITY);
        return 2;
    }
    int producers = threads / 2;
    producing = producers;
    pthread_t team[MAX_THREADS];
    uint64_t sums[MAX_THREADS] = {0}, sum = 0;
    for (int t = 0; t < threads; t++)
        if (t < producers)
            pthread_create(&team[t], NULL, produce, (void *)(uintptr_t)t);
        else
            pthread_create(&team[t], NULL, consume, &sums[t]);
    for (int t = 0; t < threads; t++) {
        pthread_join(team[t], NULL);
        sum += sums[t];
    }
    printf("checksum %016llx\n", (unsigned long long)sum);
    return 0;
}
