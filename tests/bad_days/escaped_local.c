// about: main writes a field of a local variable whose address has escaped to a thread; clang does not instrument that.
// exit: 0
#include <pthread.h>
#include <stdio.h>

struct pair {
    int first, second;
};

static void *work(void *arg) {
    struct pair *pair = arg;
    pair->first = pair->second;
    pair->second = 1;
    return NULL;
}

int main(void) {
    struct pair pair = {0, 0};
    for (int round = 0; round < 2; round++) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, &pair);
        pthread_join(thread, NULL);
        pair.second += 6; // written over what the thread wrote
    }
    printf("seen %d\n", pair.first);
    return 0;
}
