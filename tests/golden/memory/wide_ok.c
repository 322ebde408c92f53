// primitive: plain access of 16 bytes
// kind: ok
// about: the sixteen bytes are written and read under a lock.
#include <pthread.h>
#include <stdio.h>

typedef unsigned __int128 wide;
typedef int quad __attribute__((vector_size(16)));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static wide number;
static quad numbers;

static void *fill(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    number = (wide)3 << 64 | 3;
    numbers = (quad){1, 2, 3, 4};
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t filler;
    pthread_create(&filler, NULL, fill, NULL);
    pthread_mutex_lock(&lock);
    wide seen = number;
    pthread_mutex_unlock(&lock);
    pthread_join(filler, NULL);
    quad sum = numbers + numbers;
    printf("%s, then %d\n", (int)(seen >> 64) == (int)seen ? "whole" : "torn", sum[3]);
    return 0;
}
