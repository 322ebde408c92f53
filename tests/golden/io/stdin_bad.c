// primitive: standard input
// kind: race
// lines: 16 25
// stdin: 3 4 5
// about: the reader of standard input adds to the sum without the lock.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;

static void *read_numbers(void *arg) {
    int number;
    (void)arg;
    while (scanf("%d", &number) == 1) {
        sum += number; // (1)
    }
    return NULL;
}

int main(void) {
    pthread_t reader;
    pthread_create(&reader, NULL, read_numbers, NULL);
    pthread_mutex_lock(&lock);
    sum += 100; // (2)
    pthread_mutex_unlock(&lock);
    pthread_join(reader, NULL);
    printf("sum %d\n", sum);
    return 0;
}
