// primitive: atomics of 16 bytes
// kind: atomicity
// lines: 19 21
// flags: -mcx16 -latomic
// about: the pair is read and written by two 16-byte operations: an update is lost in between.
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
        struct tagged before = atomic_load(&cell), after; // (1)
        after = (struct tagged){before.value + 5, before.version + 1};
        atomic_store(&cell, after); // (2)
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
