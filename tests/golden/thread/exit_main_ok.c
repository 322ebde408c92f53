// primitive: pthread_exit of the main thread
// kind: ok
// tsan: hangs: libtsan waits for a main thread that left by pthread_exit
// about: main leaves by pthread_exit; whichever worker is last, decided by an atomic counter, prints.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int left = 2;

static void *work(void *arg) {
    (void)arg;
    if (atomic_fetch_sub(&left, 1) == 1)
        puts("last one out");
    return NULL;
}

int main(void) {
    pthread_t worker;
    for (int i = 0; i < 2; i++) {
        pthread_create(&worker, NULL, work, NULL);
        pthread_detach(worker);
    }
    pthread_exit(NULL);
}
