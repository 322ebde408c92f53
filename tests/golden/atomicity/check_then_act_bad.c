// primitive: REWEAVE_ATOMIC_BEGIN
// kind: atomicity
// lines: 13 14 15 20 21 22
// about: Program 2.4 of the active-testing thesis: every list operation is locked, yet two consumers can both see the last item.
#include <pthread.h>
#include <reweave.h>
#include <stdio.h>

static pthread_mutex_t list = PTHREAD_MUTEX_INITIALIZER;
static int items = 2;

static int is_empty(void) {
    pthread_mutex_lock(&list);
    int empty = items == 0; // (1)
    pthread_mutex_unlock(&list);
    return empty;
}

static void take(void) {
    pthread_mutex_lock(&list);
    items--; // (2)
    pthread_mutex_unlock(&list);
}

static void *consume(void *arg) {
    REWEAVE_ATOMIC_BEGIN("consume");
    if (!is_empty())
        take();
    REWEAVE_ATOMIC_END();
    return arg;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, consume, NULL);
    pthread_create(&two, NULL, consume, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    printf("%d items left\n", items);
    return 0;
}
