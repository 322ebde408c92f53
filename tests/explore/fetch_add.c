// Tickets: nobody gets the same one.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int next;
int tickets[3];

void *take(void *arg) {
    int *own = arg;
    *own = atomic_fetch_add(&next, 1);
    return 0;
}

int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, take, &tickets[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    assert(tickets[0] + tickets[1] + tickets[2] == 3);
    return 0;
}
