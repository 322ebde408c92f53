// about: Program 2.4: check-then-act on a synchronized list. No data race; consume() is not atomic, and the run can crash.
// races: none
// declared: consume
// violated: consume
// warned: consume
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t list = PTHREAD_MUTEX_INITIALIZER;
static int item = 42;
static int *buffer = &item;

static int is_empty(void) {
    pthread_mutex_lock(&list);
    int empty = buffer == NULL;
    pthread_mutex_unlock(&list);
    return empty;
}

static int *take(void) {
    pthread_mutex_lock(&list);
    int *taken = buffer;
    buffer = NULL;
    pthread_mutex_unlock(&list);
    return taken;
}

__attribute__((noinline)) static int consume(void) {
    if (is_empty())
        return 0;
    return *take();
}

static void *consumer(void *arg) {
    int data = consume();
    if (data)
        puts("consumed");
    return arg;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, consumer, NULL);
    pthread_create(&two, NULL, consumer, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return 0;
}
