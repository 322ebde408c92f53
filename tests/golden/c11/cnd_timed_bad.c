// primitive: cnd_timedwait
// kind: race
// lines: 16 36
// tsan: blind: libtsan does not know the C11 thread functions
// about: a timeout without the flag reads an item that may be half made.
#include <stdio.h>
#include <threads.h>
#include <time.h>

static mtx_t lock;
static cnd_t changed;
static int ready, item = 1;

static int produce(void *arg) {
    (void)arg;
    item = 2; // (1)
    mtx_lock(&lock);
    ready = 1;
    cnd_signal(&changed);
    mtx_unlock(&lock);
    return 0;
}

int main(void) {
    thrd_t producer;
    struct timespec deadline;
    int got = 1, outcome = thrd_success;
    mtx_init(&lock, mtx_timed);
    cnd_init(&changed);
    thrd_create(&producer, produce, NULL);
    timespec_get(&deadline, TIME_UTC);
    deadline.tv_sec += 1;
    mtx_lock(&lock);
    while (!ready && outcome == thrd_success)
        outcome = cnd_timedwait(&changed, &lock, &deadline);
    got = item; // (2)
    mtx_unlock(&lock);
    thrd_join(producer, NULL);
    printf("%s\n", got == 1 || got == 2 ? "valid" : "invalid");
    return 0;
}
