// primitive: thrd_detach
// kind: ok
// tsan: blind: libtsan does not know the C11 thread functions
// about: the detached thread announces its result under a lock, and main waits for it.
#include <stdio.h>
#include <threads.h>
#include <time.h>

static mtx_t lock;
static cnd_t done;
static int finished, answer;

static int compute(void *arg) {
    (void)arg;
    mtx_lock(&lock);
    answer = 42;
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
    mtx_lock(&lock);
    while (!finished)
        cnd_wait(&done, &lock);
    int seen = answer;
    mtx_unlock(&lock);
    printf("answer %d\n", seen);
    return 0;
}
