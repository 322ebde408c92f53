// primitive: assertion that depends on the schedule
// kind: failure
// lines: 17 29
// exit: 0 134
// about: the invariant is broken in one critical section and mended in the next; whoever checks in between aborts.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int debit, credit;

static void *book(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&lock);
        debit += 5; // (1)
        pthread_mutex_unlock(&lock);
        pthread_mutex_lock(&lock);
        credit += 5;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *check(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    assert(debit == credit); // (2)
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t booker, checker;
    pthread_create(&booker, NULL, book, NULL);
    pthread_create(&checker, NULL, check, NULL);
    pthread_join(booker, NULL);
    pthread_join(checker, NULL);
    printf("booked %d\n", debit);
    return 0;
}
