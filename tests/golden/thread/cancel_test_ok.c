// primitive: pthread_cancel in pthread_testcancel
// kind: ok
// tsan: may hang: libtsan loses a thread cancelled before it started
// about: the progress of the cancelled thread is read after the join.
#include <pthread.h>
#include <stdio.h>

static int progress;

static void *work(void *arg) {
    (void)arg;
    for (int i = 0; i < 5; i++) {
        progress = i + 1;
        pthread_testcancel();
    }
    return NULL;
}

int main(void) {
    pthread_t worker;
    void *result;
    pthread_create(&worker, NULL, work, NULL);
    pthread_cancel(worker);
    pthread_join(worker, &result);
    int seen = progress;
    int whole = result == PTHREAD_CANCELED || seen == 5;
    printf("%s\n", whole && seen >= 0 && seen <= 5 ? "stopped" : "lost");
    return 0;
}
