// primitive: malloc, free, new, delete
// kind: race
// lines: 15 29
// about: the buffer is freed while its reader may still be at it.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int *samples;

static void *sum_up(void *arg) {
    int sum = 0;
    for (int i = 0; i < 4; i++)
        sum += samples[i + 8]; // (1)
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
    usleep(20000);
    free(samples); // (2)
    pthread_join(reader, NULL);
    printf("sum %d\n", sum);
    return 0;
}
