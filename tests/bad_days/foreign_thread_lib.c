// about: library of foreign_thread.c, to be built without instrumentation: makes a thread of its own and calls back from it.
// flags: -shared -fPIC
#include <pthread.h>

static pthread_t helper;
static void (*callback)(int);

static void *run(void *arg) {
    (void)arg;
    for (int i = 1; i <= 3; i++)
        callback(i);
    return 0;
}

void foreign_start(void (*call)(int)) {
    callback = call;
    pthread_create(&helper, 0, run, 0);
}

void foreign_stop(void) {
    pthread_join(helper, 0);
}
