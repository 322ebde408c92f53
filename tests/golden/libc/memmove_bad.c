// primitive: memmove
// kind: race
// lines: 16 24
// about: the queue is looked at while memmove shifts it.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
size_t length = 8; // not static: keeps the call from being expanded in place
static int queue[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    memmove(queue, queue + 2, length * sizeof queue[0]); // (1)
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    int seen = queue[3]; // (2)
    pthread_join(worker, NULL);
    printf("%s, then %d\n", seen == 4 || seen == 6 ? "valid" : "torn", queue[3]);
    return 0;
}
