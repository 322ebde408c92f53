// primitive: atomics of 1, 2, 4 and 8 bytes
// kind: ok
// about: each size is incremented by an atomic read-modify-write.
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
        two += 1;
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
