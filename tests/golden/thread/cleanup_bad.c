// primitive: pthread_cleanup_push
// kind: race
// lines: 11 11
// about: the cleanup handlers of two threads add to the tally without its lock.
#include <pthread.h>
#include <stdio.h>

static int handlers_run;

static void tally(void *arg) {
    handlers_run += *(int *)arg; // (1) (2)
}

static void *work(void *arg) {
    int weights[2] = {1, 2};
    pthread_cleanup_push(tally, &weights[0]);
    pthread_cleanup_push(tally, &weights[1]);
    if (*(int *)arg)
        pthread_exit(NULL);
    pthread_cleanup_pop(1);
    pthread_cleanup_pop(1);
    return NULL;
}

int main(void) {
    pthread_t team[2];
    int leaves_early[2] = {0, 1};
    for (int i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, work, &leaves_early[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    printf("handlers %d\n", handlers_run);
    return 0;
}
