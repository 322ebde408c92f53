// primitive: pthread_create, std::thread
// kind: ok
// about: each worker gets its own argument, written before the thread starts.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { WORKERS = 3 };
static atomic_int sum;

static void *work(void *arg) {
    int number = *(int *)arg;
    atomic_fetch_add(&sum, number * number);
    return NULL;
}

int main(void) {
    pthread_t team[WORKERS];
    int numbers[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        numbers[i] = i;
        pthread_create(&team[i], NULL, work, &numbers[i]);
    }
    for (int t = 0; t < WORKERS; t++)
        pthread_join(team[t], NULL);
    printf("sum %d\n", atomic_load(&sum));
    return 0;
}
