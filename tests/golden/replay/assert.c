// primitive: replay of a failed assertion
// kind: failure
// lines: 18 19 29
// exit: 0 134
// about: two increments that are not atomic; if one is lost, the assertion at the end aborts.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int tickets;

static void *sell(void *arg) {
    (void)arg;
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
        int seen = tickets;
        tickets = seen + 1;
    }
    return NULL;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, sell, NULL);
    pthread_create(&second, NULL, sell, NULL);
    pthread_join(first, NULL), pthread_join(second, NULL);
    assert(tickets == 6);
    puts("all sold");
    return 0;
}
