// about: Huang, Meredith, Roşu 2014, Fig. 1 with lines 1 and 2 swapped: line 10 now always comes after line 3.
// races: none
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
static int x, y, z;
static pthread_t t2;
static void *second(void *arg);

static void *first(void *arg) {
    (void)arg;
    pthread_mutex_lock(&l);                  // 2
    pthread_create(&t2, NULL, second, NULL); // 1
    x = 1;                                   // 3
    y = 1;                                   // 4
    pthread_mutex_unlock(&l);                // 5
    return NULL;
}

static void *second(void *arg) {
    pthread_mutex_lock(&l);   // 7
    int r1 = y;               // 8
    pthread_mutex_unlock(&l); // 9
    int r2 = x;               // 10
    if (r1 == r2)             // 11
        z = 1;                // 12
    return arg;
}

int main(void) {
    pthread_t t1;
    pthread_create(&t1, NULL, first, NULL);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL); // 14
    printf("%s\n", z ? "right" : "wrong"); // 15
    return 0;
}
