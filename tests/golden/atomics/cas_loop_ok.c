// primitive: atomic_compare_exchange_weak loop, std::atomic::compare_exchange_weak loop
// kind: ok
// about: the maximum is raised by a compare-and-swap loop.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int maximum;

static void raise_to(int sample) {
    int seen = atomic_load(&maximum);
    while (seen < sample && !atomic_compare_exchange_weak(&maximum, &seen, sample))
        ;
}

static void *work(void *arg) {
    const int *samples = arg;
    for (int i = 0; i < 3; i++)
        raise_to(samples[i]);
    return NULL;
}

int main(void) {
    static const int samples[2][3] = {{3, 9, 4}, {5, 7, 8}};
    pthread_t team[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, work, (void *)samples[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    printf("maximum %d\n", atomic_load(&maximum));
    return 0;
}
