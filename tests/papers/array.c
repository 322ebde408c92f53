// about: Huang, Meredith, Roşu 2014, section 4: which element line 2 writes depends on x, so it cannot meet line 7.
// races: none
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
static int x, a[2];

static void *first(void *arg) {
    pthread_mutex_lock(&l);
    a[x] = 2; // 2
    pthread_mutex_unlock(&l);
    return arg;
}

static void *second(void *arg) {
    pthread_mutex_lock(&l);
    x = 1; // 5
    pthread_mutex_unlock(&l);
    a[0] = 1; // 7
    return arg;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, first, NULL);
    pthread_create(&two, NULL, second, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    printf("%d %d\n", a[0], a[1]);
    return 0;
}
