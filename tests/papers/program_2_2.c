// about: Park's thesis, Program 2.2: two threads take two locks in opposite order. One cycle, l1 and l2.
// races: none
// deadlocks: 13-21
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t l1 = PTHREAD_MUTEX_INITIALIZER, l2 = PTHREAD_MUTEX_INITIALIZER;

int turns;

static void *first(void *arg) {
    pthread_mutex_lock(&l1); // 1
    pthread_mutex_lock(&l2); // 2
    pthread_mutex_unlock(&l2);
    pthread_mutex_unlock(&l1);
    return arg;
}

static void *second(void *arg) {
    pthread_mutex_lock(&l2); // 6
    pthread_mutex_lock(&l1); // 7
    pthread_mutex_unlock(&l1);
    pthread_mutex_unlock(&l2);
    return arg;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, first, NULL);
    pthread_create(&two, NULL, second, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    printf("%d\n", turns);
    return 0;
}
