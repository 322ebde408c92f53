// primitive: plain access of float, double and long double
// kind: race
// lines: 17 26
// about: the double is read without the lock that its writer holds.
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
    fine = 0.25; // (1)
    finest = 0.125L;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t meter;
    pthread_create(&meter, NULL, measure, NULL);
    double seen = fine; // (2)
    pthread_join(meter, NULL);
    printf("%s, then %.3f\n", seen == 0 || seen == 0.25 ? "valid" : "torn", (double)coarse + fine + (double)finest);
    return 0;
}
