// primitive: release sequence
// kind: ok
// about: a relaxed exchange by a third thread continues the release sequence, so the reader still synchronises with the writer.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static int data;
static atomic_int stage;

static void *write_data(void *arg) {
    (void)arg;
    data = 7;
    atomic_store_explicit(&stage, 1, memory_order_release);
    return NULL;
}

static void *advance(void *arg) {
    (void)arg;
    int one = 1;
    atomic_compare_exchange_strong_explicit(&stage, &one, 2, memory_order_relaxed, memory_order_relaxed);
    return NULL;
}

static void *read_data(void *arg) {
    if (atomic_load_explicit(&stage, memory_order_acquire) == 2)
        *(int *)arg = data;
    return NULL;
}

int main(void) {
    pthread_t team[3];
    int seen = 7;
    pthread_create(&team[0], NULL, write_data, NULL);
    pthread_create(&team[1], NULL, advance, NULL);
    pthread_create(&team[2], NULL, read_data, &seen);
    for (int i = 0; i < 3; i++)
        pthread_join(team[i], NULL);
    printf("seen %d\n", seen);
    return 0;
}
