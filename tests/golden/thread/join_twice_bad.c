// primitive: joining a thread twice
// kind: misuse
// lines: 17 27
// about: two threads wait for the end of the same one; whoever comes second is refused, or waits for a thread that is not there any
// more.
#include <pthread.h>
#include <stdio.h>

static pthread_t worker;
static int done;

static void *work(void *arg) { return arg; }

static void *watch(void *arg) {
    (void)arg;
    // What it is told is not looked at.
    pthread_join(worker, NULL); // (1)
    __atomic_store_n(&done, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

int main(void) {
    pthread_t watcher;
    if (pthread_create(&worker, NULL, work, NULL) != 0) return 2;
    if (pthread_create(&watcher, NULL, watch, NULL) != 0) return 2;
    // The same thread once more.
    pthread_join(worker, NULL); // (2)
    pthread_join(watcher, NULL);
    printf("done %d\n", done);
    return 0;
}
