// A thread that makes a thread.
#include <assert.h>
#include <pthread.h>

int x;

void *grandchild(void *arg) {
    x = 2;
    return arg;
}

void *child(void *arg) {
    pthread_t one;
    pthread_create(&one, 0, grandchild, 0);
    x = 1;
    pthread_join(one, 0);
    return arg;
}

int main(void) {
    pthread_t one;
    pthread_create(&one, 0, child, 0);
    pthread_join(one, 0);
    assert(x == 2);
    return 0;
}
