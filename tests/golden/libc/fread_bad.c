// primitive: fread, fwrite
// kind: race
// lines: 16 29
// about: the numbers are looked at while fread fills them in.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *scratch;
static int numbers[4];
static size_t got;

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    got = fread(numbers, sizeof numbers[0], 4, scratch); // (1)
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
    int seen = numbers[2]; // (2)
    pthread_join(worker, NULL);
    printf("%s, then %d (%zu)\n", seen == 0 || seen == 9 ? "valid" : "torn", numbers[3], got);
    fclose(scratch);
    return 0;
}
