// primitive: copy of a struct
// kind: ok
// about: small and large structs are copied out under the lock.
#include <pthread.h>
#include <stdio.h>

struct point {
    int x, y, z;
};
struct path {
    int length;
    struct point points[10];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct path current;

static void *extend(void *arg) {
    (void)arg;
    for (int i = 1; i <= 3; i++) {
        pthread_mutex_lock(&lock);
        struct point next = {i, i, i};
        current.points[current.length] = next;
        current.length++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, extend, NULL);
    pthread_mutex_lock(&lock);
    struct path copy = current;
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    int whole = 1;
    for (int i = 0; i < copy.length; i++)
        whole &= copy.points[i].x == i + 1;
    printf("%s, then %d\n", whole ? "whole" : "torn", current.length);
    return 0;
}
