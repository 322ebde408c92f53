// primitive: call_once
// kind: ok
// tsan: blind: libtsan does not know the C11 thread functions
// about: call_once sets the table up once and publishes it.
#include <stdio.h>
#include <threads.h>

static once_flag once = ONCE_FLAG_INIT;
static int base;

static void set_up(void) {
    base = 1000;
}

static int work(void *arg) {
    call_once(&once, set_up);
    *(int *)arg += base;
    return 0;
}

int main(void) {
    thrd_t team[2];
    int numbers[2] = {1, 2};
    for (int i = 0; i < 2; i++)
        thrd_create(&team[i], work, &numbers[i]);
    for (int i = 0; i < 2; i++)
        thrd_join(team[i], NULL);
    printf("numbers %d %d\n", numbers[0], numbers[1]);
    return 0;
}
