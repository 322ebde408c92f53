// primitive: pthread_create, std::thread
// kind: race
// lines: 12 20
// about: all workers get the address of the loop counter, which the main thread goes on changing.
#include <pthread.h>
#include <stdio.h>

enum { WORKERS = 3 };
static int squares[WORKERS + 1];

static void *work(void *arg) {
    int number = *(int *)arg; // (1)
    squares[number] = number * number;
    return NULL;
}

int main(void) {
    pthread_t team[WORKERS];
    int i;
    for (i = 0; i < WORKERS; i++) // (2)
        pthread_create(&team[i], NULL, work, &i);
    int sum = 0;
    for (int t = 0; t < WORKERS; t++)
        pthread_join(team[t], NULL);
    for (int t = 0; t < WORKERS; t++)
        sum += squares[t];
    printf("sum %d\n", sum);
    return 0;
}
