// primitive: plain access of 1 byte
// kind: race
// lines: 16 25
// about: the byte is read without the lock that its writer holds.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t gauge[3] = {1, 1, 1};

static void *measure(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&lock);
        gauge[1] = (uint8_t)(200 - (unsigned)i); // (1)
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t meter;
    pthread_create(&meter, NULL, measure, NULL);
    uint8_t seen = gauge[1]; // (2)
    pthread_join(meter, NULL);
    int valid = seen == 1 || seen == (uint8_t)200 || seen == (uint8_t)(200 - 1);
    printf("%s, then %llu\n", valid ? "valid" : "torn", (unsigned long long)gauge[1]);
    return 0;
}
