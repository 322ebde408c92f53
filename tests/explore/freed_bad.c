// One thread frees what the other still looks at.
#include <pthread.h>
#include <stdlib.h>

int *shared;

void *look(void *arg) {
    int *own = shared;
    if (own)
        *own = 1;
    return arg;
}

int main(void) {
    pthread_t one;
    shared = malloc(sizeof *shared);
    pthread_create(&one, 0, look, 0);
    int *old = shared;
    shared = 0;
    free(old);
    pthread_join(one, 0);
    return 0;
}
