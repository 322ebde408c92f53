// primitive: realloc
// kind: race
// lines: 15 31
// about: the reader keeps the address from before the array grew and may have moved.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *numbers;

static void *grow(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    int *bigger = realloc(numbers, 4096 * sizeof *numbers); // (1)
    if (!bigger) abort();
    numbers = bigger;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t grower;
    numbers = calloc(16, sizeof *numbers);
    if (!numbers) return 2;
    numbers[10] = 5;
    pthread_create(&grower, NULL, grow, NULL);
    pthread_mutex_lock(&lock);
    int *base = numbers;
    pthread_mutex_unlock(&lock);
    int seen = base[10]; // (2)
    pthread_join(grower, NULL);
    printf("seen %d\n", seen);
    free(numbers);
    return 0;
}
