// primitive: mtx_timedlock
// kind: race
// lines: 17 31
// tsan: blind: libtsan does not know the C11 thread functions
// about: thrd_timedout is ignored.
#include <stdio.h>
#include <threads.h>
#include <time.h>

static mtx_t lock;
static int level = 1;

static int fill(void *arg) {
    (void)arg;
    mtx_lock(&lock);
    thrd_sleep(&(struct timespec){0, 2000000}, NULL);
    level = 2; // (1)
    mtx_unlock(&lock);
    return 0;
}

int main(void) {
    thrd_t filler;
    struct timespec deadline;
    int seen = 1;
    mtx_init(&lock, mtx_timed);
    thrd_create(&filler, fill, NULL);
    timespec_get(&deadline, TIME_UTC);
    deadline.tv_sec += 1;
    int outcome = mtx_timedlock(&lock, &deadline);
    seen = level; // (2)
    if (outcome == thrd_success)
        mtx_unlock(&lock);
    thrd_join(filler, NULL);
    mtx_destroy(&lock);
    printf("%s\n", seen == 1 || seen == 2 ? "valid" : "invalid");
    return 0;
}
