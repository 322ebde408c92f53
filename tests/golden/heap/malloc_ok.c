// primitive: malloc, free, new, delete
// kind: ok
// about: the buffer is freed once its reader has been joined.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int *samples;

static void *sum_up(void *arg) {
    int sum = 0;
    for (int i = 0; i < 4; i++)
        sum += samples[i + 8];
    *(int *)arg = sum;
    return NULL;
}

int main(void) {
    pthread_t reader;
    int sum = 0;
    samples = malloc(16 * sizeof *samples);
    if (!samples) return 2;
    for (int i = 0; i < 16; i++)
        samples[i] = i;
    pthread_create(&reader, NULL, sum_up, &sum);
    pthread_join(reader, NULL);
    free(samples);
    printf("sum %d\n", sum);
    return 0;
}
