// A lock-free stack over an array of indices that looks safe (D. Vyukov): who takes an element marks it before others
// can take it, and nobody takes the last one. Three threads and about five preemptions let two of them own one element.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define ELEMENTS 3
static struct {
    atomic_int value, next;
} array[ELEMENTS];
static atomic_int head, count;

static int pop(void) {
    while (atomic_load(&count) > 1) {
        int first = atomic_load(&head);
        int next = atomic_exchange(&array[first].next, -1);
        if (next >= 0) {
            int expected = first;
            if (atomic_compare_exchange_strong(&head, &expected, next)) {
                atomic_fetch_sub(&count, 1);
                return first;
            }
            atomic_exchange(&array[first].next, next);
        }
    }
    return -1;
}

static void push(int element) {
    int first = atomic_load(&head);
    do atomic_store(&array[element].next, first);
    while (!atomic_compare_exchange_strong(&head, &first, element));
    atomic_fetch_add(&count, 1);
}

static void *work(void *argument) {
    int own = (int)(long)argument;
    for (int i = 0; i < 2; i++) {
        int element;
        while ((element = pop()) < 0) sched_yield();
        atomic_store(&array[element].value, own);
        assert(atomic_load(&array[element].value) == own);
        push(element);
    }
    return 0;
}

int main(void) {
    atomic_store(&count, ELEMENTS);
    for (int i = 0; i < ELEMENTS; i++) atomic_store(&array[i].next, i + 1);
    atomic_store(&array[ELEMENTS - 1].next, -1);
    pthread_t threads[3];
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    return 0;
}
