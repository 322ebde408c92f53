// primitive: __attribute__((no_sanitize("thread")))
// kind: race
// lines: 21 30
// about: the function that is not instrumented is in order, but an instrumented one reads the count without the lock.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int table[4], used;

__attribute__((no_sanitize("thread"), noinline)) static int checksum(void) {
    int sum = 0;
    for (int i = 0; i < 4; i++)
        sum = sum * 3 + table[i];
    return sum;
}

static void *add(void *arg) {
    pthread_mutex_lock(&lock);
    table[used] = *(int *)arg;
    used++; // (1)
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t adder;
    int value = 5;
    pthread_create(&adder, NULL, add, &value);
    int seen = used; // (2)
    pthread_mutex_lock(&lock);
    int sum = checksum();
    pthread_mutex_unlock(&lock);
    pthread_join(adder, NULL);
    printf("%s, then %d\n", sum >= 0 && seen >= 0 ? "valid" : "torn", checksum());
    return 0;
}
