// primitive: a reused heap address
// kind: ok
// about: a block that went through free and malloc is another location: its users need no further order.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *use_a_block(void *arg) {
    int sum = 0;
    for (int round = 0; round < 3; round++) {
        int *block = malloc(16 * sizeof *block);
        if (!block) abort();
        for (int i = 4; i < 8; i++)
            block[i] = *(int *)arg;
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
    for (int i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, use_a_block, &numbers[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    printf("sums %d %d\n", numbers[0], numbers[1]);
    return 0;
}
