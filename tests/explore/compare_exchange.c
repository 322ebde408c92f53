// One of two threads wins.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int owner;
int wins[2];

void *claim(void *arg) {
    int *own = arg;
    int nobody = 0;
    *own = atomic_compare_exchange_strong(&owner, &nobody, 1);
    return 0;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, claim, &wins[0]);
    pthread_create(&two, 0, claim, &wins[1]);
    pthread_join(one, 0);
    pthread_join(two, 0);
    assert(wins[0] + wins[1] == 1);
    return 0;
}
