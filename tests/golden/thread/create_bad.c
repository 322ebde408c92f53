// primitive: pthread_create, std::thread
// kind: race
// lines: 13 21
// about: all workers get the address of the loop counter, which the main thread goes on changing.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { WORKERS = 3 };
static atomic_int sum;

static void *work(void *arg) {
    int number = *(int *)arg; // (1)
    atomic_fetch_add(&sum, number * number);
    return NULL;
}

int main(void) {
    pthread_t team[WORKERS];
    int i;
    for (i = 0; i < WORKERS; i++) // (2)
        pthread_create(&team[i], NULL, work, &i);
    for (int t = 0; t < WORKERS; t++)
        pthread_join(team[t], NULL);
    printf("sum %d\n", atomic_load(&sum));
    return 0;
}
