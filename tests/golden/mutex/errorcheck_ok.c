// primitive: PTHREAD_MUTEX_ERRORCHECK
// kind: ok
// about: the second lock by the same thread is refused with EDEADLK and handled.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock;
static int jobs, refused;

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    if (pthread_mutex_lock(&lock) == EDEADLK)
        refused++;
    jobs++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&lock, &attributes);
    pthread_t worker;
    pthread_mutex_lock(&lock);
    jobs++;
    pthread_mutex_unlock(&lock);
    pthread_create(&worker, NULL, work, NULL);
    pthread_join(worker, NULL);
    printf("jobs %d refused %d\n", jobs, refused);
    pthread_mutex_destroy(&lock);
    return 0;
}
