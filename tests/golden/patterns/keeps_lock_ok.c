// primitive: a thread that ends with a lock
// kind: ok
// about: both threads give the lock back; nobody joins them, main
// leaves by pthread_exit.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int first, second;

static void *careful(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    first = 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *careless(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    second = 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, careful, NULL);
    pthread_detach(one);
    pthread_create(&two, NULL, careless, NULL);
    pthread_detach(two);
    pthread_exit(NULL);
}
