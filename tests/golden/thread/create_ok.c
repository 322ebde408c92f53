// primitive: pthread_create, std::thread
// kind: ok
// about: each worker gets its own argument, written before the thread starts.
#include <pthread.h>
#include <stdio.h>

enum { WORKERS = 3 };
static int squares[WORKERS + 1];

static void *work(void *arg) {
    int number = *(int *)arg;
    squares[number] = number * number;
    return NULL;
}

int main(void) {
    pthread_t team[WORKERS];
    int numbers[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        numbers[i] = i;
        pthread_create(&team[i], NULL, work, &numbers[i]);
    }
    int sum = 0;
    for (int t = 0; t < WORKERS; t++)
        pthread_join(team[t], NULL);
    for (int t = 0; t < WORKERS; t++)
        sum += squares[t];
    printf("sum %d\n", sum);
    return 0;
}
