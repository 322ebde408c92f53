// about: Sinha, Malik, Gupta 2012, Fig. 1: write and read are under one lock, so nothing races; the sections can still swap.
// races: 
// reads: 22-13 22-initial
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
static int x;
static int seen;

static void *writer(void *arg) {
    pthread_mutex_lock(&l);
    x = 1;
    pthread_mutex_unlock(&l);
    pthread_mutex_lock(&l);
    x = 2;
    pthread_mutex_unlock(&l);
    return arg;
}
static void *reader(void *arg) {
    pthread_mutex_lock(&l);
    seen = x;
    pthread_mutex_unlock(&l);
    return arg;
}

int main(void) {
    pthread_t t1, t2;
    pthread_create(&t1, NULL, writer, NULL);
    pthread_create(&t2, NULL, reader, NULL);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    printf("%d\n", seen);
    return 0;
}
