// about: Program 6.2: main takes L twice in a block before there is another thread. A reduction warning that is no error.
// races: none
// declared: initialize
// violated: none
// warned: initialize
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, L = PTHREAD_MUTEX_INITIALIZER;
static int table, count;

__attribute__((noinline)) static void initialize(void) {
    pthread_mutex_lock(&outer);
    pthread_mutex_lock(&L);
    table = 1;
    pthread_mutex_unlock(&L);
    pthread_mutex_lock(&L);
    count = 1;
    pthread_mutex_unlock(&L);
    pthread_mutex_unlock(&outer);
}

static void *some_thread(void *arg) {
    pthread_mutex_lock(&L);
    table += count;
    pthread_mutex_unlock(&L);
    return arg;
}

int main(void) {
    pthread_t one;
    initialize();
    pthread_create(&one, NULL, some_thread, NULL);
    pthread_join(one, NULL);
    printf("%d\n", table);
    return 0;
}
