// Fails only if both flags are seen in the middle of what the other thread does: two changed reads in one run.
#include <assert.h>
#include <pthread.h>

volatile int a, b, seen_a, seen_b;

void *first(void *arg) {
    a = 1;
    seen_b = b;
    a = 0;
    return arg;
}

void *second(void *arg) {
    b = 1;
    seen_a = a;
    b = 0;
    return arg;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, first, 0);
    pthread_create(&two, 0, second, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    assert(!(seen_a && seen_b));
    return 0;
}
