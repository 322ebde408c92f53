// primitive: a crowd of threads
// kind: failure
// lines: 32 34
// exit: 0 134
// about: each of a hundred workers enlists in one critical section and is counted in the next; only an inspector that comes while nobody has been counted yet aborts.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { WORKERS = 100 };
static pthread_mutex_t list = PTHREAD_MUTEX_INITIALIZER, register_ = PTHREAD_MUTEX_INITIALIZER;
static int enlisted, counted;

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&list);
    enlisted = 1;
    pthread_mutex_unlock(&list);
    pthread_mutex_lock(&register_);
    counted = 1;
    pthread_mutex_unlock(&register_);
    return NULL;
}

static void *inspect(void *arg) {
    (void)arg;
    pthread_mutex_lock(&list);
    int any = enlisted;
    pthread_mutex_unlock(&list);
    pthread_mutex_lock(&register_);
    int known = counted;
    pthread_mutex_unlock(&register_);
    if (any)
        assert(known);
    return NULL;
}

int main(void) {
    pthread_t workers[WORKERS], inspector;
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, work, NULL);
    pthread_create(&inspector, NULL, inspect, NULL);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    pthread_join(inspector, NULL);
    printf("%d\n", counted);
    return 0;
}
