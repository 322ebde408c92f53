// Each thread writes one variable and reads the other: at least one sees the other's write.
#include <assert.h>
#include <pthread.h>

int x, y, a, b;

void *first(void *arg) {
    x = 1;
    a = y;
    return arg;
}

void *second(void *arg) {
    y = 1;
    b = x;
    return arg;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, first, 0);
    pthread_create(&two, 0, second, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    assert(a + b > 0);
    return 0;
}
