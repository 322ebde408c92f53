// primitive: pthread_cond_wait, without its mutex
// kind: deadlock
// lines: 21
// exit: 0 hang
// about: nobody takes the lock, so that the signal can come between the look at the flag and the wait: main waits for ever. libc lets a normal mutex be waited with that is not held.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int done;

static void finish(void) {
    __atomic_store_n(&done, 1, __ATOMIC_SEQ_CST);
    pthread_cond_signal(&changed);
}

static void await(void) {
    while (!__atomic_load_n(&done, __ATOMIC_SEQ_CST))
        // (1)
        pthread_cond_wait(&changed, &lock);
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
