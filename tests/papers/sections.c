// about: Kini, Mathur, Viswanathan 2017: the critical sections touch nothing in common, so their order orders nothing.
// races: 12-23
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int shared;
static int before, after;

static void *first(void *arg) {
    (void)arg;
    shared = 1;
    pthread_mutex_lock(&lock);
    before++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *second(void *arg) {
    pthread_mutex_lock(&lock);
    after++;
    pthread_mutex_unlock(&lock);
    shared = 2;
    return arg;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, first, NULL);
    pthread_create(&two, NULL, second, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    printf("%d\n", shared + before + after);
    return 0;
}
