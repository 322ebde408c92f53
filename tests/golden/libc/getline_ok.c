// primitive: getline, std::getline
// kind: ok
// about: the line that getline fills is looked at under a lock.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *scratch;
static char *line;
static size_t room;
static ssize_t got;

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    got = getline(&line, &room, scratch);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    scratch = tmpfile();
    line = malloc(room = 64);
    if (!scratch || !line || fputs("one line\n", scratch) < 0)
        return 2;
    rewind(scratch);
    line[0] = 0;
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    pthread_mutex_lock(&lock);
    char seen = line[0];
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    printf("%s, then %d: %s", seen == 0 || seen == 'o' ? "valid" : "torn", (int)got, line);
    free(line);
    fclose(scratch);
    return 0;
}
