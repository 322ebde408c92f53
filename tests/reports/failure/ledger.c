// Every booking has two sides. The auditor checks that they agree, between two bookings or so it hopes.
// Build: reweave cc -g -o ledger ledger.c -lpthread
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int debit, credit;

static void *book(void *unused) {
    (void)unused;
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&lock);
        debit += 5;
        pthread_mutex_unlock(&lock); // the bug: one side is booked, the other is not yet
        pthread_mutex_lock(&lock);
        credit += 5;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *audit(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    assert(debit == credit);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t clerk, auditor;
    pthread_create(&clerk, NULL, book, NULL);
    pthread_create(&auditor, NULL, audit, NULL);
    pthread_join(clerk, NULL);
    pthread_join(auditor, NULL);
    printf("%d on both sides\n", debit);
    return 0;
}
