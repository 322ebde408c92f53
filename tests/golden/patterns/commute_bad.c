// primitive: outcome that depends on the schedule
// kind: nondeterminism
// lines: 14 22
// about: both threads change the number under the lock, but adding and doubling do not commute.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int number = 10;

static void *add(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    number += 5; // (1)
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *change(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    number *= 2; // (2)
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, add, NULL);
    pthread_create(&second, NULL, change, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    printf("number %d\n", number);
    return 0;
}
