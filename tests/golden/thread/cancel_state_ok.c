// primitive: pthread_setcancelstate
// kind: ok
// about: cancellation is off while the lock is held.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int debit, credit;

static void *transfer(void *arg) {
    (void)arg;
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    pthread_mutex_lock(&lock);
    debit += 5;
    pthread_testcancel();
    credit += 5;
    pthread_mutex_unlock(&lock);
    pthread_setcancelstate(before, NULL);
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, transfer, NULL);
    usleep(20000);
    pthread_cancel(worker);
    pthread_mutex_lock(&lock);
    int balanced = debit == credit;
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    printf("%s\n", balanced ? "balanced" : "torn");
    return 0;
}
