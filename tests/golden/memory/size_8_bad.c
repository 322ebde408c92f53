// primitive: plain access of 8 bytes
// kind: race
// lines: 16 25
// about: the eight-byte word is read without the lock that its writer holds.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t gauge[3] = {1, 1, 1};

static void *measure(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&lock);
        gauge[1] = (uint64_t)(1234567890123456789u - (unsigned)i); // (1)
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t meter;
    pthread_create(&meter, NULL, measure, NULL);
    uint64_t seen = gauge[1]; // (2)
    pthread_join(meter, NULL);
    int valid = seen == 1 || seen == (uint64_t)1234567890123456789u || seen == (uint64_t)(1234567890123456789u - 1);
    printf("%s, then %llu\n", valid ? "valid" : "torn", (unsigned long long)gauge[1]);
    return 0;
}
