// kind: ok
// about: the place is looked up under the lock
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { ROOM = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int buffer[ROOM], used;

static void log_message(int message) {
    pthread_mutex_lock(&lock);
    int at = used;
    buffer[at] = message;
    used = at + 1;
    pthread_mutex_unlock(&lock);
}

static void *talk(void *number) {
    log_message((int)(long)number);
    return NULL;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, talk, (void *)1);
    pthread_create(&two, NULL, talk, (void *)2);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    assert(used == 2 && buffer[0] + buffer[1] == 3);
    puts("done");
    return 0;
}
