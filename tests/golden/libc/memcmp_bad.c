// primitive: memcmp, memchr
// kind: race
// lines: 17 26
// about: a byte of the key is rewritten while memcmp reads it.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
size_t length = 16; // not static: keeps the call from being expanded in place
static char key[17] = "0123456789abcdef", other[17] = "0123456789abcdef";
static int same, found;

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    same = memcmp(key, other, length) == 0; // (1)
    found = memchr(other, '9', length) != NULL;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    key[15] = 'f'; // (2)
    pthread_join(worker, NULL);
    printf("same %d found %d\n", same, found);
    return 0;
}
