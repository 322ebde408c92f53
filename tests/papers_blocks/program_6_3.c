// about: Program 6.3: whoever takes L holds the common lock M. A reduction warning that is no error.
// races: none
// declared: update
// violated: none
// warned: update
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t M = PTHREAD_MUTEX_INITIALIZER, L = PTHREAD_MUTEX_INITIALIZER;
static int table, count;

__attribute__((noinline)) static void update(void) {
    pthread_mutex_lock(&M);
    pthread_mutex_lock(&L);
    table++;
    pthread_mutex_unlock(&L);
    pthread_mutex_lock(&L);
    count++;
    pthread_mutex_unlock(&L);
    pthread_mutex_unlock(&M);
}

static void *some_thread(void *arg) {
    update();
    return arg;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, some_thread, NULL);
    pthread_create(&two, NULL, some_thread, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    printf("%d %d\n", table, count);
    return 0;
}
