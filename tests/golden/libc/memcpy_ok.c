// primitive: memcpy, std::copy
// kind: ok
// about: the row is copied and looked at under a lock.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
size_t length = 24; // not static: keeps the call from being expanded in place
static char from[32] = "a row of the table itself", to[32];

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    memcpy(to, from, length);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    pthread_mutex_lock(&lock);
    char seen = to[5];
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    printf("%s, then %.24s\n", seen == 0 || seen == ' ' ? "valid" : "torn", to);
    return 0;
}
