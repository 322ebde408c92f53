// primitive: cnd_wait, cnd_signal, cnd_broadcast
// kind: deadlock
// lines: 17 31
// tsan: blind: libtsan does not know the C11 thread functions
// about: two consumers wait for the same event, but only one is signalled.
#include <stdio.h>
#include <threads.h>

static mtx_t lock;
static cnd_t started;
static int running, arrived;

static int runner(void *arg) {
    (void)arg;
    mtx_lock(&lock);
    while (!running)
        cnd_wait(&started, &lock); // (1)
    arrived++;
    mtx_unlock(&lock);
    return 0;
}

int main(void) {
    thrd_t team[2];
    mtx_init(&lock, mtx_plain);
    cnd_init(&started);
    for (int i = 0; i < 2; i++)
        thrd_create(&team[i], runner, NULL);
    mtx_lock(&lock);
    running = 1;
    cnd_signal(&started); // (2)
    mtx_unlock(&lock);
    for (int i = 0; i < 2; i++)
        thrd_join(team[i], NULL);
    cnd_destroy(&started);
    mtx_destroy(&lock);
    printf("arrived %d\n", arrived);
    return 0;
}
