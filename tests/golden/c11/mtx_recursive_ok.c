// primitive: mtx_recursive
// kind: ok
// tsan: blind: libtsan does not know the C11 thread functions
// about: the recursive mutex is held until the outermost unlock.
#include <stdio.h>
#include <threads.h>

static mtx_t lock;
static int total, entries;

static void add(int amount) {
    mtx_lock(&lock);
    total += amount;
    mtx_unlock(&lock);
}

static int work(void *arg) {
    mtx_lock(&lock);
    add(*(int *)arg);
    add(1);
    entries++;
    mtx_unlock(&lock);
    return 0;
}

int main(void) {
    thrd_t team[2];
    int amounts[2] = {10, 20};
    mtx_init(&lock, mtx_plain | mtx_recursive);
    for (int i = 0; i < 2; i++)
        thrd_create(&team[i], work, &amounts[i]);
    for (int i = 0; i < 2; i++)
        thrd_join(team[i], NULL);
    mtx_destroy(&lock);
    printf("total %d in %d\n", total, entries);
    return 0;
}
