// primitive: mtx_lock
// kind: ok
// tsan: blind: libtsan does not know the C11 thread functions
// about: every change of the count holds the mutex.
#include <stdio.h>
#include <threads.h>

static mtx_t lock;
static int count = 10;

static int up(void *arg) {
    (void)arg;
    mtx_lock(&lock);
    count++;
    mtx_unlock(&lock);
    return 0;
}

static int down(void *arg) {
    (void)arg;
    mtx_lock(&lock);
    count--;
    mtx_unlock(&lock);
    return 0;
}

int main(void) {
    thrd_t first, second;
    mtx_init(&lock, mtx_plain);
    thrd_create(&first, up, NULL);
    thrd_create(&second, down, NULL);
    thrd_join(first, NULL);
    thrd_join(second, NULL);
    mtx_destroy(&lock);
    printf("count %d\n", count);
    return 0;
}
