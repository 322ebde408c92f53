// primitive: qsort, bsearch, std::sort
// kind: race
// lines: 19 27
// about: the numbers are looked at while qsort moves them.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int numbers[6] = {5, 2, 6, 1, 4, 3};

static int compare(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    qsort(numbers, 6, sizeof numbers[0], compare); // (1)
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    int seen = numbers[0]; // (2)
    pthread_join(worker, NULL);
    int key = 4;
    int *found = bsearch(&key, numbers, 6, sizeof numbers[0], compare);
    printf("%s, then %d\n", seen >= 1 && seen <= 6 ? "valid" : "torn", found ? (int)(found - numbers) : -1);
    return 0;
}
