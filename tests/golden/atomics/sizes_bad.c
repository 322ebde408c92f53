// primitive: atomics of 1, 2, 4 and 8 bytes
// kind: atomicity
// lines: 19 20
// about: the two-byte counter is incremented by a load and a store.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

static _Atomic(uint8_t) one;
static _Atomic(uint16_t) two;
static _Atomic(uint32_t) four;
static _Atomic(uint64_t) eight;

static void *work(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) {
        one += 1;
        uint16_t seen = atomic_load(&two); // (1)
        atomic_store(&two, (uint16_t)(seen + 1)); // (2)
        four++;
        atomic_fetch_add(&eight, (uint64_t)1 << 40);
    }
    return NULL;
}

int main(void) {
    pthread_t team[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    printf("counts %d %d %d %d\n", one, two, (int)four, (int)(eight >> 40));
    return 0;
}
