// primitive: lock order fixed by a join
// kind: deadlock
// lines: 13 22
// about: the first thread is joined only after the second was made: the opposite orders meet.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock_a = PTHREAD_MUTEX_INITIALIZER, lock_b = PTHREAD_MUTEX_INITIALIZER;
static int steps;

static void *there(void *arg) {
    pthread_mutex_lock(&lock_a);
    pthread_mutex_lock(&lock_b); // (1)
    steps++;
    pthread_mutex_unlock(&lock_b);
    pthread_mutex_unlock(&lock_a);
    return arg;
}

static void *back(void *arg) {
    pthread_mutex_lock(&lock_b);
    pthread_mutex_lock(&lock_a); // (2)
    steps++;
    pthread_mutex_unlock(&lock_a);
    pthread_mutex_unlock(&lock_b);
    return arg;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, there, NULL);
    pthread_create(&second, NULL, back, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    printf("steps %d\n", steps);
    return 0;
}
