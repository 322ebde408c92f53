// Main does not wait for its thread: what that one has done by then is open.
#include <pthread.h>

int x, y;

void *work(void *arg) {
    x = y;
    y = x + 1;
    return arg;
}

int main(void) {
    pthread_t one;
    pthread_create(&one, 0, work, 0);
    pthread_detach(one);
    return y;
}
