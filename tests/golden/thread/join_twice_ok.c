// primitive: joining a thread twice
// kind: ok
// about: only the watcher waits for the end of the worker; main waits for the watcher.
#include <pthread.h>
#include <stdio.h>

static pthread_t worker;
static int done;

static void *work(void *arg) { return arg; }

static void *watch(void *arg) {
    (void)arg;
    // What it is told is not looked at.
    pthread_join(worker, NULL);
    __atomic_store_n(&done, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

int main(void) {
    pthread_t watcher;
    if (pthread_create(&worker, NULL, work, NULL) != 0) return 2;
    if (pthread_create(&watcher, NULL, watch, NULL) != 0) return 2;
    pthread_join(watcher, NULL);
    printf("done %d\n", done);
    return 0;
}
