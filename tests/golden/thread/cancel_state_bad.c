// primitive: pthread_setcancelstate
// kind: deadlock
// lines: 14 27
// about: the thread can be cancelled between lock and unlock, and whoever locks next waits for ever.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int debit, credit;

static void *transfer(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock); // (1)
    debit += 5;
    pthread_testcancel();
    credit += 5;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, transfer, NULL);
    usleep(20000);
    pthread_cancel(worker);
    pthread_mutex_lock(&lock); // (2)
    int balanced = debit == credit;
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    printf("%s\n", balanced ? "balanced" : "torn");
    return 0;
}
