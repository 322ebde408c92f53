// about: Huang, Meredith, Roşu 2014, Fig. 2, case 2: the same reads and writes, but x is only read once y is set.
// races: none
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static int x, seen_x;
static atomic_int y;

static void *first(void *arg) {
    (void)arg;
    // The paper's lines 1 and 2.
    x = 1;
    atomic_store(&y, 1);
    return NULL;
}

static void *second(void *arg) {
    while (atomic_load(&y) == 0) // 3
        ;
    int r2 = x; // 4
    seen_x = r2;
    return arg;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, first, NULL);
    pthread_create(&two, NULL, second, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    printf("%d\n", seen_x);
    return 0;
}
