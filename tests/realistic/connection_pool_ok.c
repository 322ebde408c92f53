// kind: ok
// about: asked and taken under one lock
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int unused_connections = 1, refused;

static int has_one(void) {
    pthread_mutex_lock(&lock);
    int some = unused_connections > 0;
    pthread_mutex_unlock(&lock);
    return some;
}

static int take(void) {
    pthread_mutex_lock(&lock);
    int some = unused_connections > 0;
    if (some)
        unused_connections--;
    assert(unused_connections >= 0);
    pthread_mutex_unlock(&lock);
    return some;
}

static void *handle(void *nothing) {
    if (!take()) {
        pthread_mutex_lock(&lock);
        refused++;
        pthread_mutex_unlock(&lock);
    }
    return nothing;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, handle, NULL);
    pthread_create(&two, NULL, handle, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    printf("left %d, %s\n", unused_connections, has_one() ? "some" : "none");
    return refused > 1;
}
