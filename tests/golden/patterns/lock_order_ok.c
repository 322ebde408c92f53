// primitive: lock order
// kind: ok
// about: both transfers lock the accounts in the same order.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock_a = PTHREAD_MUTEX_INITIALIZER, lock_b = PTHREAD_MUTEX_INITIALIZER;
static int a = 50, b = 50;

static void *from_a_to_b(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock_a);
    pthread_mutex_lock(&lock_b);
    a -= 10;
    b += 10;
    pthread_mutex_unlock(&lock_b);
    pthread_mutex_unlock(&lock_a);
    return NULL;
}

static void *from_b_to_a(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock_a);
    pthread_mutex_lock(&lock_b);
    b -= 20;
    a += 20;
    pthread_mutex_unlock(&lock_b);
    pthread_mutex_unlock(&lock_a);
    return NULL;
}

int main(void) {
    pthread_t there, back;
    pthread_create(&there, NULL, from_a_to_b, NULL);
    pthread_create(&back, NULL, from_b_to_a, NULL);
    pthread_join(there, NULL);
    pthread_join(back, NULL);
    printf("a %d b %d\n", a, b);
    return 0;
}
