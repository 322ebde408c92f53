// Whoever comes first initialises.
#include <assert.h>
#include <pthread.h>

pthread_once_t once = PTHREAD_ONCE_INIT;
int value;

void make(void) {
    value++;
}

void *use(void *arg) {
    pthread_once(&once, make);
    assert(value == 1);
    return arg;
}

int main(void) {
    pthread_t one;
    pthread_create(&one, 0, use, 0);
    pthread_once(&once, make);
    pthread_join(one, 0);
    assert(value == 1);
    return 0;
}
