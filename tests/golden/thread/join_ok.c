// primitive: pthread_join, std::thread::join
// kind: ok
// about: the sum is read once the join has returned.
#include <pthread.h>
#include <stdio.h>

static int values[4] = {3, 1, 4, 1};
static int sum;

static void *add_up(void *arg) {
    (void)arg;
    int total = 0;
    for (int i = 0; i < 4; i++)
        total += values[i];
    sum = total;
    return values;
}

int main(void) {
    pthread_t worker;
    void *result;
    pthread_create(&worker, NULL, add_up, NULL);
    pthread_join(worker, &result);
    int seen = sum;
    printf("%s sum %d\n", result == values ? "good" : "lost", seen);
    return 0;
}
