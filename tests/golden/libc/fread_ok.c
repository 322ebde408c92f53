// primitive: fread, fwrite
// kind: ok
// about: the numbers that fread fills in are looked at under a lock.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *scratch;
static int numbers[4];
static size_t got;

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    got = fread(numbers, sizeof numbers[0], 4, scratch);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    int squares[4] = {1, 4, 9, 16};
    scratch = tmpfile();
    if (!scratch || fwrite(squares, sizeof squares[0], 4, scratch) != 4)
        return 2;
    rewind(scratch);
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    pthread_mutex_lock(&lock);
    int seen = numbers[2];
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    printf("%s, then %d (%zu)\n", seen == 0 || seen == 9 ? "valid" : "torn", numbers[3], got);
    fclose(scratch);
    return 0;
}
