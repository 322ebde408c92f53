// kind: ok
// about: the tick takes the lock, too
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { SLOTS = 2, TIMERS = 3 };

struct timer {
    struct timer *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct timer timers[TIMERS], *wheel[SLOTS];
static int fired;

static void add(struct timer *timer, int slot) {
    pthread_mutex_lock(&lock);
    timer->next = wheel[slot];
    wheel[slot] = timer;
    pthread_mutex_unlock(&lock);
}

static int tick(int slot) {
    int count = 0;
    pthread_mutex_lock(&lock);
    struct timer *due = wheel[slot];
    wheel[slot] = NULL;
    pthread_mutex_unlock(&lock);
    for (; due; due = due->next)
        count++;
    return count;
}

static void *arm(void *unused) {
    for (int i = 0; i < TIMERS; i++)
        add(&timers[i], 0);
    return unused;
}

static void *run(void *unused) {
    fired += tick(0);
    return unused;
}

int main(void) {
    pthread_t arming, ticking;
    pthread_create(&arming, NULL, arm, NULL);
    pthread_create(&ticking, NULL, run, NULL);
    pthread_join(arming, NULL);
    pthread_join(ticking, NULL);
    fired += tick(0);
    assert(fired == TIMERS);
    puts("done");
    return 0;
}
