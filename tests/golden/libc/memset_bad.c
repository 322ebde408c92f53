// primitive: memset, std::fill
// kind: race
// lines: 16 24
// about: the page is looked at while memset fills it.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
size_t length = 40; // not static: keeps the call from being expanded in place
static unsigned char page[40];

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    memset(page, 0xff, length); // (1)
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    int seen = page[33]; // (2)
    pthread_join(worker, NULL);
    printf("%s, then %d\n", seen == 0 || seen == 0xff ? "valid" : "torn", page[39]);
    return 0;
}
