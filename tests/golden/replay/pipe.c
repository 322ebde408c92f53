// primitive: replay of a pipe
// kind: nondeterminism
// lines: 17 39
// exit: 0
// about: two writers send letters through one pipe; the order in which they are read depends on the schedule.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int ends[2];

static void *write_letters(void *arg) {
    const char *letters = arg;
    for (int i = 0; letters[i]; i++) {
        // One byte at a time, so that the writers interleave. (A pipe never
        // splits a single byte.)
        if (write(ends[1], &letters[i], 1) != 1)
            return NULL;
    }
    return NULL;
}

static void *close_when_done(void *arg) {
    pthread_t *writers = arg;
    pthread_join(writers[0], NULL);
    pthread_join(writers[1], NULL);
    close(ends[1]);
    return NULL;
}

int main(void) {
    pthread_t writers[2], closer;
    char text[16];
    size_t length = 0;
    if (pipe(ends) != 0) return 2;
    pthread_create(&writers[0], NULL, write_letters, "abcd");
    pthread_create(&writers[1], NULL, write_letters, "WXYZ");
    pthread_create(&closer, NULL, close_when_done, writers);
    for (ssize_t got; (got = read(ends[0], text + length, 3)) > 0;)
        length += (size_t)got;
    pthread_join(closer, NULL);
    text[length] = 0;
    printf("%s\n", text);
    return 0;
}
