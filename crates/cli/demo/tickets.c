// Two counters sell the last ticket. Every access is under the lock, so that there is no data race.
// Build: reweave cc -g -o tickets tickets.c -lpthread
#include <pthread.h>
#include <reweave.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int tickets = 1;

static int left(void) {
    pthread_mutex_lock(&lock);
    int n = tickets;
    pthread_mutex_unlock(&lock);
    return n;
}

static void take(void) {
    pthread_mutex_lock(&lock);
    tickets--;
    pthread_mutex_unlock(&lock);
}

static void *sell(void *unused) {
    (void)unused;
    REWEAVE_ATOMIC_BEGIN("sell"); // the bug: nothing makes it atomic
    if (left() > 0)
        take();
    REWEAVE_ATOMIC_END();
    return NULL;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, sell, NULL);
    pthread_create(&two, NULL, sell, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    printf("%d tickets left\n", tickets);
    return tickets < 0;
}
