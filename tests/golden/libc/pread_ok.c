// primitive: pread, pwrite
// kind: ok
// about: the block that pread fills is looked at under a lock.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int file;
static char block[16];
static ssize_t got;

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    got = pread(file, block, 4, 3);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    FILE *scratch = tmpfile();
    if (!scratch)
        return 2;
    file = fileno(scratch);
    if (pwrite(file, "0123456789", 10, 0) != 10)
        return 2;
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    pthread_mutex_lock(&lock);
    char seen = block[0];
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    printf("%s, then %s (%d)\n", seen == 0 || seen == '3' ? "valid" : "torn", block, (int)got);
    fclose(scratch);
    return 0;
}
