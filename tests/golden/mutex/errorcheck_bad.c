// primitive: PTHREAD_MUTEX_ERRORCHECK
// kind: misuse
// lines: 25 14
// about: a thread that never locked the mutex unlocks it while the main thread holds it; EPERM.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock;
static int jobs, refused;

static void *work(void *arg) {
    (void)arg;
    if (pthread_mutex_unlock(&lock) == EPERM) // (2)
        refused++;
    return NULL;
}

int main(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&lock, &attributes);
    pthread_t worker;
    pthread_mutex_lock(&lock); // (1)
    jobs++;
    pthread_create(&worker, NULL, work, NULL);
    pthread_join(worker, NULL);
    pthread_mutex_unlock(&lock);
    printf("jobs %d refused %d\n", jobs, refused);
    pthread_mutex_destroy(&lock);
    return 0;
}
