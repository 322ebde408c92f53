// primitive: atomic_thread_fence, std::atomic_thread_fence
// kind: ok
// tsan: may report: libtsan does not model fences
// about: a release fence before and an acquire fence after the relaxed flag publish the message.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wtsan" // gcc warns about fences when it instruments
#endif

static int message;
static atomic_int published;

static void *publish(void *arg) {
    (void)arg;
    message = 42;
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&published, 1, memory_order_relaxed);
    return NULL;
}

static void *read_once(void *arg) {
    if (atomic_load_explicit(&published, memory_order_relaxed)) {
        atomic_thread_fence(memory_order_acquire);
        *(int *)arg = message;
    }
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
