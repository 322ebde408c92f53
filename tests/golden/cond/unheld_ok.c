// primitive: pthread_cond_wait, without its mutex
// kind: ok
// about: the look at the flag and the wait are one, and so are the flag and the signal.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int done;

static void finish(void) {
    pthread_mutex_lock(&lock);
    done = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static void await(void) {
    pthread_mutex_lock(&lock);
    while (!done)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void *work(void *arg) {
    (void)arg;
    finish();
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    await();
    pthread_join(worker, NULL);
    puts("done");
    return 0;
}
