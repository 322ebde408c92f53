// primitive: thrd_detach
// kind: race
// lines: 16 31
// tsan: blind: libtsan does not know the C11 thread functions
// about: main trusts that a sleep is long enough for the detached thread.
#include <stdio.h>
#include <threads.h>
#include <time.h>

static mtx_t lock;
static cnd_t done;
static int finished, answer;

static int compute(void *arg) {
    (void)arg;
    answer = 42; // (1)
    mtx_lock(&lock);
    finished = 1;
    cnd_signal(&done);
    mtx_unlock(&lock);
    return 0;
}

int main(void) {
    thrd_t worker;
    mtx_init(&lock, mtx_plain);
    cnd_init(&done);
    thrd_create(&worker, compute, NULL);
    thrd_detach(worker);
    thrd_sleep(&(struct timespec){0, 20000000}, NULL);
    int seen = answer; // (2)
    mtx_lock(&lock);
    while (!finished)
        cnd_wait(&done, &lock);
    mtx_unlock(&lock);
    printf("answer %d\n", seen);
    return 0;
}
