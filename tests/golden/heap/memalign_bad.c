// primitive: posix_memalign, aligned_alloc, memalign
// kind: race
// lines: 17 36
// about: an aligned block is freed before the join.
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int *blocks[3];

static void *check(void *arg) {
    int good = 0;
    for (int i = 0; i < 3; i++)
        good += (uintptr_t)blocks[i] % 64 == 0 && blocks[i][12] == i; // (1)
    *(int *)arg = good;
    return NULL;
}

int main(void) {
    pthread_t checker;
    int good = 0;
    void *first;
    if (posix_memalign(&first, 64, 64) != 0) return 2;
    blocks[0] = first;
    blocks[1] = aligned_alloc(64, 128);
    blocks[2] = memalign(128, 64);
    for (int i = 0; i < 3; i++) {
        if (!blocks[i]) return 2;
        blocks[i][12] = i;
    }
    pthread_create(&checker, NULL, check, &good);
    usleep(20000);
    free(blocks[1]); // (2)
    pthread_join(checker, NULL);
    free(blocks[0]);
    free(blocks[2]);
    printf("good %d\n", good);
    return 0;
}
