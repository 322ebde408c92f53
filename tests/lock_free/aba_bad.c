// A lock-free stack of indices: a thread reads the top and what lies below it, others take both and put the top back,
// and the thread's exchange succeeds although what it read has changed (ABA). Two threads own one element then.
// Takes two preemptions.
#include <pthread.h>
#include <stdatomic.h>

#define ELEMENTS 4
static atomic_int below[ELEMENTS], top, users[ELEMENTS], wrong;

static int pop(void) {
    for (;;) {
        int first = atomic_load(&top);
        if (first < 0) return -1;
        int second = atomic_load(&below[first]);
        if (atomic_compare_exchange_strong(&top, &first, second)) return first;
    }
}

static void push(int element) {
    for (;;) {
        int first = atomic_load(&top);
        atomic_store(&below[element], first);
        if (atomic_compare_exchange_strong(&top, &first, element)) return;
    }
}

static void *work(void *argument) {
    int mine[2];
    for (int i = 0; i < 2; i++) {
        mine[i] = pop();
        if (mine[i] >= 0 && atomic_fetch_add(&users[mine[i]], 1) != 0) atomic_store(&wrong, 1);
    }
    for (int i = 0; i < 2; i++) {
        if (mine[i] < 0) continue;
        atomic_fetch_sub(&users[mine[i]], 1);
        push(mine[i]);
    }
    return argument;
}

int main(void) {
    for (int i = 0; i < ELEMENTS; i++) atomic_store(&below[i], i + 1 < ELEMENTS ? i + 1 : -1);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    return atomic_load(&wrong);
}
