// primitive: lock order inverted by one thread alone
// kind: deadlock
// lines: 18 29
// about: one thread locks in both orders, and another one in one of them: that is enough.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock_a = PTHREAD_MUTEX_INITIALIZER, lock_b = PTHREAD_MUTEX_INITIALIZER;
static int a, b;

static void *both(void *arg) {
    pthread_mutex_lock(&lock_a);
    pthread_mutex_lock(&lock_b);
    a++;
    pthread_mutex_unlock(&lock_b);
    pthread_mutex_unlock(&lock_a);
    pthread_mutex_lock(&lock_b);
    pthread_mutex_lock(&lock_a); // (1)
    b++;
    pthread_mutex_unlock(&lock_a);
    pthread_mutex_unlock(&lock_b);
    return arg;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, both, NULL);
    pthread_mutex_lock(&lock_a);
    pthread_mutex_lock(&lock_b); // (2)
    a++;
    pthread_mutex_unlock(&lock_b);
    pthread_mutex_unlock(&lock_a);
    pthread_join(thread, NULL);
    printf("a %d b %d\n", a, b);
    return 0;
}
