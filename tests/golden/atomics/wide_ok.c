// primitive: atomics of 16 bytes
// kind: ok
// flags: -mcx16 -latomic
// about: pointer and version change together by a 16-byte compare-and-swap.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

struct tagged {
    uint64_t value, version;
};
static _Atomic(struct tagged) cell;

static void *work(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) {
        struct tagged before = atomic_load(&cell), after;
        do
            after = (struct tagged){before.value + 5, before.version + 1};
        while (!atomic_compare_exchange_strong(&cell, &before, after));
    }
    return NULL;
}

int main(void) {
    pthread_t team[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    struct tagged end = atomic_load(&cell);
    printf("value %d version %d\n", (int)end.value, (int)end.version);
    return 0;
}
