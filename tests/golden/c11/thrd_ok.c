// primitive: thrd_create, thrd_join, thrd_exit
// kind: ok
// tsan: blind: libtsan does not know the C11 thread functions
// about: the result is read once thrd_join has returned.
#include <stdio.h>
#include <threads.h>

static int result;

static int work(void *arg) {
    result = *(int *)arg * 2;
    thrd_exit(5);
}

int main(void) {
    thrd_t worker;
    int input = 21, status = 0;
    thrd_create(&worker, work, &input);
    thrd_join(worker, &status);
    int seen = result;
    printf("result %d status %d\n", seen, status);
    return 0;
}
