// primitive: pthread_exit
// kind: race
// lines: 11 11
// about: the workers leave with the address of one shared result.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void leave(int value) {
    static int result;
    result = value; // (1) (2)
    pthread_exit(&result);
}

static void descend(int depth, int value) {
    if (value > 15)
        leave(value);
    else if (depth > 0)
        descend(depth - 1, value + depth);
}

static void *work(void *arg) {
    descend(3, *(int *)arg);
    return NULL;
}

int main(void) {
    pthread_t team[2];
    int starts[2] = {10, 10}, sum = 0;
    for (int i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, work, &starts[i]);
    for (int i = 0; i < 2; i++) {
        void *result;
        pthread_join(team[i], &result);
        sum += *(int *)result;
    }
    printf("sum %d\n", sum);
    return 0;
}
