// kind: ok
// about: a reader uses the configuration under the lock
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct config {
    int limit, burst;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct config *current;

static struct config *load(int limit) {
    struct config *fresh = malloc(sizeof *fresh);
    fresh->limit = limit;
    fresh->burst = 2 * limit;
    return fresh;
}

static void *reload(void *unused) {
    struct config *fresh = load(20);
    pthread_mutex_lock(&lock);
    struct config *old = current;
    current = fresh;
    pthread_mutex_unlock(&lock);
    free(old);
    return unused;
}

static void *serve(void *unused) {
    pthread_mutex_lock(&lock);
    struct config *config = current;
    assert(config->burst == 2 * config->limit);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    current = load(10);
    pthread_t server, signalled;
    pthread_create(&server, NULL, serve, NULL);
    pthread_create(&signalled, NULL, reload, NULL);
    pthread_join(server, NULL);
    pthread_join(signalled, NULL);
    free(current);
    puts("done");
    return 0;
}
