// kind: ok
// about: references are counted by an atomic
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct shared {
    atomic_int references;
    int value;
};

static atomic_int freed;

static void drop(struct shared *object) {
    if (--object->references == 0) {
        atomic_fetch_add(&freed, 1);
        free(object);
    }
}

static void *use(void *object) {
    drop(object);
    return NULL;
}

int main(void) {
    struct shared *object = malloc(sizeof *object);
    object->references = 2;
    object->value = 1;
    pthread_t one, two;
    pthread_create(&one, NULL, use, object);
    pthread_create(&two, NULL, use, object);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    assert(freed == 1);
    puts("done");
    return 0;
}
