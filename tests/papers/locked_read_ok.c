// about: Sinha, Malik, Gupta 2012, Fig. 1, made deterministic: the reader is only started when the writer is done.
// races: 
// reads: 
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
    pthread_join(t1, NULL);
    pthread_create(&t2, NULL, reader, NULL);
    pthread_join(t2, NULL);
    printf("%d\n", seen);
    return 0;
}
