// primitive: missed signal
// kind: deadlock
// lines: 16 29
// about: the flag is checked, the lock released, and then waited: a signal in between is missed.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER;
static int done;

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    done = 1;
    pthread_cond_signal(&finished); // (1)
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    pthread_mutex_lock(&lock);
    int wait = !done;
    pthread_mutex_unlock(&lock);
    if (wait) {
        pthread_mutex_lock(&lock);
        pthread_cond_wait(&finished, &lock); // (2)
        pthread_mutex_unlock(&lock);
    }
    pthread_join(worker, NULL);
    printf("done %d\n", done);
    return 0;
}
