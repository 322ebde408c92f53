// primitive: a stack variable shared with another thread
// kind: ok
// about: the frame outlives the thread that writes into it.
#include <pthread.h>
#include <stdio.h>

static void *square(void *arg) {
    int *number = arg;
    *number = *number * *number;
    return NULL;
}

static int with_helper(int n) {
    pthread_t helper;
    int local = n;
    pthread_create(&helper, NULL, square, &local);
    pthread_join(helper, NULL);
    int result = local;
    return result;
}

int main(void) {
    printf("squares %d %d\n", with_helper(3), with_helper(4));
    return 0;
}
