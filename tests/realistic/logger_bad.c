// kind: race
// about: a message is written into the buffer at a place that was looked up before the lock was taken
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { ROOM = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int buffer[ROOM], used;

static void log_message(int message) {
    int at = used;
    pthread_mutex_lock(&lock);
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
