// primitive: hand-over-hand locking
// kind: deadlock
// lines: 16 28
// about: one thread walks the chain from its tail: the two meet in the middle, each with a lock that the other wants next.
#include <pthread.h>
#include <stdio.h>

enum { LINKS = 3 };
static pthread_mutex_t link_lock[LINKS] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int visits[LINKS];

static void *walk(void *arg) {
    pthread_mutex_lock(&link_lock[0]);
    visits[0]++;
    for (int i = 1; i < LINKS; i++) {
        pthread_mutex_lock(&link_lock[i]); // (1)
        pthread_mutex_unlock(&link_lock[i - 1]);
        visits[i]++;
    }
    pthread_mutex_unlock(&link_lock[LINKS - 1]);
    return arg;
}

static void *walk_back(void *arg) {
    pthread_mutex_lock(&link_lock[LINKS - 1]);
    visits[LINKS - 1]++;
    for (int i = LINKS - 2; i >= 0; i--) {
        pthread_mutex_lock(&link_lock[i]); // (2)
        pthread_mutex_unlock(&link_lock[i + 1]);
        visits[i]++;
    }
    pthread_mutex_unlock(&link_lock[0]);
    return arg;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, walk, NULL);
    pthread_create(&second, NULL, walk_back, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    printf("visits %d %d %d\n", visits[0], visits[1], visits[2]);
    return 0;
}
