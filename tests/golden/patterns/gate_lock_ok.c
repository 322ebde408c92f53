// primitive: gate lock
// kind: ok
// tsan: may report: libtsan's lock-order check does not see that the gate excludes the cycle
// about: the locks are taken in opposite order, but only by whoever holds the gate.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static int moves;

static void *go_right(void *arg) {
    (void)arg;
    pthread_mutex_lock(&gate);
    pthread_mutex_lock(&left);
    pthread_mutex_lock(&right);
    moves++;
    pthread_mutex_unlock(&right);
    pthread_mutex_unlock(&left);
    pthread_mutex_unlock(&gate);
    return NULL;
}

static void *go_left(void *arg) {
    (void)arg;
    pthread_mutex_lock(&gate);
    pthread_mutex_lock(&right);
    pthread_mutex_lock(&left);
    moves++;
    pthread_mutex_unlock(&left);
    pthread_mutex_unlock(&right);
    pthread_mutex_unlock(&gate);
    return NULL;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, go_right, NULL);
    pthread_create(&second, NULL, go_left, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    printf("moves %d\n", moves);
    return 0;
}
