// primitive: arrays split between threads
// kind: ok
// about: each thread has its half of the array.
#include <pthread.h>
#include <stdio.h>

static int squares[8];

struct span {
    int from, to;
};

static void *fill(void *arg) {
    struct span span = *(struct span *)arg;
    for (int i = span.from; i < span.to; i++)
        squares[i] = i * i;
    return NULL;
}

int main(void) {
    struct span spans[2] = {{0, 4}, {4, 8}};
    pthread_t team[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, fill, &spans[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    int sum = 0;
    for (int i = 0; i < 8; i++)
        sum += squares[i];
    printf("sum %d\n", sum);
    return 0;
}
