// about: Huang, Meredith, Roşu 2014, Fig. 2, case 1: nothing depends on what was read from y, so x can be read before y is set.
// races: 13-20
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static int x, seen_x, seen_y;
static atomic_int y;

static void *first(void *arg) {
    (void)arg;
    // The paper's lines 1 and 2.
    x = 1;
    atomic_store(&y, 1);
    return NULL;
}

static void *second(void *arg) {
    int r1 = atomic_load(&y); // 3
    int r2 = x;               // 4
    seen_y = r1;
    seen_x = r2;
    return arg;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, first, NULL);
    pthread_create(&two, NULL, second, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    printf("%d %d\n", seen_x, seen_y);
    return 0;
}
