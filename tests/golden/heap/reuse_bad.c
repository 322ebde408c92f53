// primitive: a reused heap address
// kind: race
// lines: 18 37
// about: a stale pointer to the freed block reads what the next owner of the address writes.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int *stale;

static void *use_a_block(void *arg) {
    int sum = 0;
    for (int round = 0; round < 3; round++) {
        int *block = malloc(16 * sizeof *block);
        if (!block) abort();
        for (int i = 4; i < 8; i++)
            block[i] = *(int *)arg; // (1)
        for (int i = 4; i < 8; i++)
            sum += block[i];
        free(block);
    }
    *(int *)arg = sum;
    return NULL;
}

int main(void) {
    pthread_t team[2];
    int numbers[2] = {1, 2};
    stale = malloc(16 * sizeof *stale);
    if (!stale) return 2;
    stale[4] = 0;
    free(stale);
    for (int i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, use_a_block, &numbers[i]);
    use_a_block(&(int){3});
    int seen = stale[4]; // (2)
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    printf("sums %d %d (%s)\n", numbers[0], numbers[1], seen >= 0 ? "read" : "negative");
    return 0;
}
