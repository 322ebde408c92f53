// primitive: adjacent bytes of one word
// kind: race
// lines: 17 23
// about: one thread clears the whole word while the other writes a byte of it.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

static union {
    uint32_t word;
    uint8_t byte[4];
} cell;

static void *low(void *arg) {
    (void)arg;
    cell.byte[0] = 1;
    cell.byte[1] = 2; // (1)
    return NULL;
}

static void *high(void *arg) {
    (void)arg;
    cell.word = 0; // (2)
    cell.byte[2] = 3;
    cell.byte[3] = 4;
    return NULL;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, low, NULL);
    pthread_create(&second, NULL, high, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    int sum = 0;
    for (int i = 0; i < 4; i++)
        sum += cell.byte[i];
    printf("sum %d\n", sum);
    return 0;
}
