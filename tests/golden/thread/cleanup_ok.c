// primitive: pthread_cleanup_push
// kind: ok
// about: the cleanup handlers, run by cancellation or by pop, add to the tally under its lock.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int handlers_run;

static void tally(void *arg) {
    pthread_mutex_lock(&lock);
    handlers_run += *(int *)arg;
    pthread_mutex_unlock(&lock);
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
