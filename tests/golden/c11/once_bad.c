// primitive: call_once
// kind: race
// lines: 16 12
// tsan: blind: libtsan does not know the C11 thread functions
// about: a plain flag guards the set-up.
#include <stdio.h>
#include <threads.h>

static int base;

static void set_up(void) {
    base = 1000; // (2)
}

static int work(void *arg) {
    if (base == 0) // (1)
        set_up();
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
