// primitive: a thread that ends with a lock
// kind: deadlock
// lines: 14
// about: the second thread forgets to give the lock back; if it comes first, the other one waits for ever. Nobody joins them: main
// leaves by pthread_exit, and no read tells the runs apart.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int first, second;

static void *careful(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock); // (1)
    first = 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *careless(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    second = 1;
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
