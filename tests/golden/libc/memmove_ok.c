// primitive: memmove
// kind: ok
// about: the queue is shifted and looked at under a lock.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
size_t length = 8; // not static: keeps the call from being expanded in place
static int queue[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    memmove(queue, queue + 2, length * sizeof queue[0]);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    pthread_mutex_lock(&lock);
    int seen = queue[3];
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    printf("%s, then %d\n", seen == 4 || seen == 6 ? "valid" : "torn", queue[3]);
    return 0;
}
