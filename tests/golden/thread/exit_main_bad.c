// primitive: pthread_exit of the main thread
// kind: race
// lines: 14 14
// tsan: hangs: libtsan waits for a main thread that left by pthread_exit
// about: main leaves by pthread_exit; the workers find out who is last through a plain counter.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static int left = 2;

static void *work(void *arg) {
    (void)arg;
    if (left-- == 1) // (1) (2)
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
