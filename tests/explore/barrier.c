// Writes before a barrier are seen after it; who gets the serial return is open.
#include <assert.h>
#include <pthread.h>

pthread_barrier_t barrier;
int x, y, leader;

void *other(void *arg) {
    x = 1;
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
        leader = 1;
    assert(y == 1);
    return arg;
}

int main(void) {
    pthread_t one;
    pthread_barrier_init(&barrier, 0, 2);
    pthread_create(&one, 0, other, 0);
    y = 1;
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
        leader = 2;
    assert(x == 1);
    pthread_join(one, 0);
    assert(leader != 0);
    return 0;
}
