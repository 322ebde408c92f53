// primitive: lock order fixed by a join
// kind: ok
// tsan: may report: libtsan does not see that the first thread is gone before the second begins
// about: the orders are opposite, but the first thread is joined before the second is made.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock_a = PTHREAD_MUTEX_INITIALIZER, lock_b = PTHREAD_MUTEX_INITIALIZER;
static int steps;

static void *there(void *arg) {
    pthread_mutex_lock(&lock_a);
    pthread_mutex_lock(&lock_b);
    steps++;
    pthread_mutex_unlock(&lock_b);
    pthread_mutex_unlock(&lock_a);
    return arg;
}

static void *back(void *arg) {
    pthread_mutex_lock(&lock_b);
    pthread_mutex_lock(&lock_a);
    steps++;
    pthread_mutex_unlock(&lock_a);
    pthread_mutex_unlock(&lock_b);
    return arg;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, there, NULL);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, back, NULL);
    pthread_join(thread, NULL);
    printf("steps %d\n", steps);
    return 0;
}
