// primitive: plain access of 4 bytes
// kind: ok
// about: the four-byte word is written and read under a lock.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t gauge[3] = {1, 1, 1};

static void *measure(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&lock);
        gauge[1] = (uint32_t)(4000000000u - (unsigned)i);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t meter;
    pthread_create(&meter, NULL, measure, NULL);
    pthread_mutex_lock(&lock);
    uint32_t seen = gauge[1];
    pthread_mutex_unlock(&lock);
    pthread_join(meter, NULL);
    int valid = seen == 1 || seen == (uint32_t)4000000000u || seen == (uint32_t)(4000000000u - 1);
    printf("%s, then %llu\n", valid ? "valid" : "torn", (unsigned long long)gauge[1]);
    return 0;
}
