// primitive: a stack variable shared with another thread
// kind: race
// lines: 10 18
// about: the caller reads its local variable while the helper writes it.
#include <pthread.h>
#include <stdio.h>

static void *square(void *arg) {
    int *number = arg;
    *number = *number * *number; // (1)
    return NULL;
}

static int with_helper(int n) {
    pthread_t helper;
    int local = n;
    pthread_create(&helper, NULL, square, &local);
    int result = local; // (2)
    pthread_join(helper, NULL);
    return result;
}

int main(void) {
    printf("squares %d %d\n", with_helper(3), with_helper(4));
    return 0;
}
