// primitive: read
// kind: race
// lines: 17 27
// about: the buffer is looked at while read fills it.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];
static char line[16];
static ssize_t got;

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    got = read(ends[0], line, sizeof line - 1); // (1)
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    if (pipe(ends) != 0 || write(ends[1], "hello pipe", 10) != 10)
        return 2;
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    char seen = line[0]; // (2)
    pthread_join(worker, NULL);
    printf("%s, then %s (%d)\n", seen == 0 || seen == 'h' ? "valid" : "torn", line, (int)got);
    return 0;
}
