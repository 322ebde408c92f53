// primitive: release and acquire, std::memory_order_release
// kind: ok
// about: the message is published by a release store and read after an acquire load that saw it.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static int message;
static atomic_int published;

static void *publish(void *arg) {
    (void)arg;
    message = 42;
    atomic_store_explicit(&published, 1, memory_order_release);
    return NULL;
}

static void *read_once(void *arg) {
    if (atomic_load_explicit(&published, memory_order_acquire))
        *(int *)arg = message;
    return NULL;
}

int main(void) {
    pthread_t writer, reader;
    int seen = 42;
    pthread_create(&writer, NULL, publish, NULL);
    pthread_create(&reader, NULL, read_once, &seen);
    pthread_join(writer, NULL);
    pthread_join(reader, NULL);
    printf("seen %d\n", seen);
    return 0;
}
