// about: Park's thesis, Program 5.2: the second thread passes l1 once before it takes both; a careless scheduler thrashes there.
// races: none
// deadlocks: 11-21
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t l1 = PTHREAD_MUTEX_INITIALIZER, l2 = PTHREAD_MUTEX_INITIALIZER;

static void *first(void *arg) {
    pthread_mutex_lock(&l1); // 2
    pthread_mutex_lock(&l2); // 3
    pthread_mutex_unlock(&l2);
    pthread_mutex_unlock(&l1);
    return arg;
}

static void *second(void *arg) {
    pthread_mutex_lock(&l1); // 9
    pthread_mutex_unlock(&l1);
    pthread_mutex_lock(&l2); // 12
    pthread_mutex_lock(&l1); // 13
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
    puts("done");
    return 0;
}
