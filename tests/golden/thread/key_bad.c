// primitive: pthread_key_create, thread_local
// kind: race
// lines: 13 13
// about: the destructors of two ending threads add to the total without a lock.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_key_t counter;
static int total;

static void merge(void *value) {
    total += *(int *)value; // (1) (2)
    free(value);
}

static void count(void) {
    int *mine = pthread_getspecific(counter);
    if (!mine) {
        mine = calloc(1, sizeof *mine);
        if (!mine) abort();
        pthread_setspecific(counter, mine);
    }
    ++*mine;
}

static void *work(void *arg) {
    (void)arg;
    for (int i = 0; i < 4; i++)
        count();
    return NULL;
}

int main(void) {
    pthread_t team[2];
    pthread_key_create(&counter, merge);
    for (int i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    pthread_key_delete(counter);
    printf("total %d\n", total);
    return 0;
}
