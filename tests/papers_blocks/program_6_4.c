// about: Program 6.4: a block that draws two unique numbers. It is not atomic, and nothing visible follows: every number is unique.
// races: none
// declared: two_ids
// violated: two_ids
// warned: two_ids
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t L = PTHREAD_MUTEX_INITIALIZER;
static int next;

static int get_unique_id(void) {
    pthread_mutex_lock(&L);
    int id = ++next;
    pthread_mutex_unlock(&L);
    return id;
}

__attribute__((noinline)) static int two_ids(void) {
    int first = get_unique_id();
    int second = get_unique_id();
    return first != second;
}

static void *draw(void *arg) {
    if (!two_ids())
        puts("twice the same");
    return arg;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, draw, NULL);
    pthread_create(&two, NULL, draw, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return 0;
}
