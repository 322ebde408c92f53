// primitive: pthread_cancel in pthread_testcancel
// kind: race
// lines: 14 25
// tsan: may hang: libtsan loses a thread cancelled before it started
// about: the progress is read right after pthread_cancel, which does not wait for the thread.
#include <pthread.h>
#include <stdio.h>

static int progress;

static void *work(void *arg) {
    (void)arg;
    for (int i = 0; i < 5; i++) {
        progress = i + 1; // (1)
        pthread_testcancel();
    }
    return NULL;
}

int main(void) {
    pthread_t worker;
    void *result;
    pthread_create(&worker, NULL, work, NULL);
    pthread_cancel(worker);
    int seen = progress; // (2)
    pthread_join(worker, &result);
    int whole = result == PTHREAD_CANCELED || seen == 5;
    printf("%s\n", whole && seen >= 0 && seen <= 5 ? "stopped" : "lost");
    return 0;
}
