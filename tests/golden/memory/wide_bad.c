// primitive: plain access of 16 bytes
// kind: race
// lines: 18 27
// about: the sixteen bytes are read without the lock, so that the halves may belong to different values.
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
    number = (wide)3 << 64 | 3; // (1)
    numbers = (quad){1, 2, 3, 4};
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t filler;
    pthread_create(&filler, NULL, fill, NULL);
    wide seen = number; // (2)
    pthread_join(filler, NULL);
    quad sum = numbers + numbers;
    printf("%s, then %d\n", (int)(seen >> 64) == (int)seen ? "whole" : "torn", sum[3]);
    return 0;
}
