// primitive: release and acquire, std::memory_order_release
// kind: race
// lines: 14 21
// about: the message is published by a relaxed store: seeing the flag does not mean that the message is there.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static int message;
static atomic_int published;

static void *publish(void *arg) {
    (void)arg;
    message = 42; // (1)
    atomic_store_explicit(&published, 1, memory_order_relaxed);
    return NULL;
}

static void *read_once(void *arg) {
    if (atomic_load_explicit(&published, memory_order_acquire))
        *(int *)arg = message; // (2)
    return NULL;
}

int main(void) {
    pthread_t writer, reader;
    int seen = 42;
    pthread_create(&writer, NULL, publish, NULL);
    for (int i = 0; i < 1000 && !atomic_load_explicit(&published, memory_order_relaxed); i++)
        sched_yield(); // makes it likely, in a plain run, that the reader finds the flag set
    pthread_create(&reader, NULL, read_once, &seen);
    pthread_join(writer, NULL);
    pthread_join(reader, NULL);
    printf("seen %d\n", seen);
    return 0;
}
