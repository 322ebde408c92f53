// primitive: pread, pwrite
// kind: race
// lines: 18 32
// about: the block is looked at while pread fills it.
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
    got = pread(file, block, 4, 3); // (1)
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
    char seen = block[0]; // (2)
    pthread_join(worker, NULL);
    printf("%s, then %s (%d)\n", seen == 0 || seen == '3' ? "valid" : "torn", block, (int)got);
    fclose(scratch);
    return 0;
}
