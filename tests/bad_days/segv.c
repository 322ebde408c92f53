// about: a thread writes through a null pointer while others work; the trace must be complete up to there.
// exit: 139
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;
static int *volatile nowhere;

static void *work(void *arg) {
    for (int i = 0; i < 5; i++) {
        pthread_mutex_lock(&lock);
        count++;
        pthread_mutex_unlock(&lock);
    }
    if (arg)
        *nowhere = count;
    return NULL;
}

int main(void) {
    pthread_t good, bad;
    pthread_create(&good, NULL, work, NULL);
    pthread_create(&bad, NULL, work, &count);
    pthread_join(good, NULL);
    pthread_join(bad, NULL);
    puts("not reached");
    return 0;
}
