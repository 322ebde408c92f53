// primitive: pthread_exit
// kind: ok
// about: each worker leaves from deep inside with its own result.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void leave(int value) {
    int *result = malloc(sizeof *result);
    if (!result) abort();
    *result = value;
    pthread_exit(result);
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
        free(result);
    }
    printf("sum %d\n", sum);
    return 0;
}
