// The failing line is reached only through a branch that the first run does not take, and then needs another change.
#include <assert.h>
#include <pthread.h>

volatile int stage, value;

void *helper(void *arg) {
    stage = 1;
    value = 1;
    return arg;
}

void *worker(void *arg) {
    if (stage == 1) {
        int seen = value;
        assert(seen == value);
    }
    return arg;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, worker, 0);
    pthread_create(&two, 0, helper, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    return 0;
}
