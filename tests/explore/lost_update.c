// Two increments that can lose one.
#include <assert.h>
#include <pthread.h>

int counter;

void *add(void *arg) {
    int old = counter;
    counter = old + 1;
    return arg;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, add, 0);
    pthread_create(&two, 0, add, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    assert(counter == 2);
    return 0;
}
