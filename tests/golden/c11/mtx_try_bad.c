// primitive: mtx_trylock
// kind: race
// lines: 16 16
// tsan: blind: libtsan does not know the C11 thread functions
// about: thrd_busy is ignored.
#include <stdio.h>
#include <threads.h>

static mtx_t lock;
static int steps;

static int work(void *arg) {
    int skipped = 0;
    for (int i = 0; i < 2; i++) {
        int outcome = mtx_trylock(&lock);
        steps++; // (1) (2)
        if (outcome == thrd_success)
            mtx_unlock(&lock);
    }
    *(int *)arg = skipped;
    return 0;
}

int main(void) {
    thrd_t team[2];
    int skipped[2];
    mtx_init(&lock, mtx_plain);
    for (int i = 0; i < 2; i++)
        thrd_create(&team[i], work, &skipped[i]);
    for (int i = 0; i < 2; i++)
        thrd_join(team[i], NULL);
    mtx_destroy(&lock);
    printf("steps %d\n", steps + skipped[0] + skipped[1]);
    return 0;
}
