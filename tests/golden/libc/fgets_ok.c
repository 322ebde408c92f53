// primitive: fgets, fputs
// kind: ok
// about: the line that fgets fills is looked at under a lock.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *scratch;
static char line[16];

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    if (!fgets(line, sizeof line, scratch))
        line[0] = '?';
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    scratch = tmpfile();
    if (!scratch || fputs("first\nsecond\n", scratch) < 0)
        return 2;
    rewind(scratch);
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    pthread_mutex_lock(&lock);
    char seen = line[1];
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    printf("%s, then %s", seen == 0 || seen == 'i' ? "valid" : "torn", line);
    fclose(scratch);
    return 0;
}
