// kind: ok
// about: the pointer is read under the lock
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

struct settings {
    int size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct settings only, *instance;

static struct settings *get(void) {
    pthread_mutex_lock(&lock);
    if (!instance) {
        instance = &only;
        instance->size = 7;
    }
    struct settings *found = instance;
    pthread_mutex_unlock(&lock);
    return found;
}

static void *use(void *unused) {
    assert(get()->size == 7);
    return unused;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, use, NULL);
    pthread_create(&two, NULL, use, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    puts("done");
    return 0;
}
