// primitive: plain access of float, double and long double
// kind: ok
// about: the three readings are written and read under a lock.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static float coarse;
static double fine;
static long double finest;

static void *measure(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    coarse = 0.5f;
    fine = 0.25;
    finest = 0.125L;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t meter;
    pthread_create(&meter, NULL, measure, NULL);
    pthread_mutex_lock(&lock);
    double seen = fine;
    pthread_mutex_unlock(&lock);
    pthread_join(meter, NULL);
    printf("%s, then %.3f\n", seen == 0 || seen == 0.25 ? "valid" : "torn", (double)coarse + fine + (double)finest);
    return 0;
}
