// primitive: double-checked locking
// kind: ok
// about: the first check is an acquire load of what was stored with release.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int table[4];
static _Atomic(int *) ready;

static int *get(void) {
    int *seen = atomic_load_explicit(&ready, memory_order_acquire);
    if (!seen) {
        pthread_mutex_lock(&lock);
        seen = atomic_load_explicit(&ready, memory_order_relaxed);
        if (!seen) {
            for (int i = 0; i < 4; i++)
                table[i] = i + 1;
            seen = table;
            atomic_store_explicit(&ready, seen, memory_order_release);
        }
        pthread_mutex_unlock(&lock);
    }
    return seen;
}

static void *use(void *arg) {
    *(int *)arg = get()[3];
    return NULL;
}

int main(void) {
    pthread_t team[2];
    int seen[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, use, &seen[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    printf("seen %d %d\n", seen[0], seen[1]);
    return 0;
}
