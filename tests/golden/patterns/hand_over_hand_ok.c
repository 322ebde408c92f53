// primitive: hand-over-hand locking
// kind: ok
// about: both threads walk the chain from its head, and take the next lock before they give the last one back.
#include <pthread.h>
#include <stdio.h>

enum { LINKS = 3 };
static pthread_mutex_t link_lock[LINKS] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int visits[LINKS];

static void *walk(void *arg) {
    pthread_mutex_lock(&link_lock[0]);
    visits[0]++;
    for (int i = 1; i < LINKS; i++) {
        pthread_mutex_lock(&link_lock[i]);
        pthread_mutex_unlock(&link_lock[i - 1]);
        visits[i]++;
    }
    pthread_mutex_unlock(&link_lock[LINKS - 1]);
    return arg;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, walk, NULL);
    pthread_create(&second, NULL, walk, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    printf("visits %d %d %d\n", visits[0], visits[1], visits[2]);
    return 0;
}
