// primitive: tss_create, _Thread_local
// kind: ok
// tsan: blind: libtsan does not know the C11 thread functions
// about: the tss destructor adds the thread's share to the total under a lock.
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

static mtx_t lock;
static tss_t share;
static _Thread_local int calls;
static int total;

static void collect(void *value) {
    mtx_lock(&lock);
    total += *(int *)value;
    mtx_unlock(&lock);
    free(value);
}

static int work(void *arg) {
    int *mine = malloc(sizeof *mine);
    if (!mine) abort();
    for (int i = 0; i < 3; i++)
        calls++;
    *mine = calls + *(int *)arg;
    tss_set(share, mine);
    return 0;
}

int main(void) {
    thrd_t team[2];
    int extra[2] = {10, 20};
    mtx_init(&lock, mtx_plain);
    tss_create(&share, collect);
    for (int i = 0; i < 2; i++)
        thrd_create(&team[i], work, &extra[i]);
    for (int i = 0; i < 2; i++)
        thrd_join(team[i], NULL);
    tss_delete(share);
    printf("total %d\n", total);
    return 0;
}
