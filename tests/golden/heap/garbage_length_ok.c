// primitive: free, and a length in what was freed
// kind: ok
// about: the block is freed when nobody reads it any more.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct note {
    size_t length;
    char text[40];
};

static struct note *shared;
static char copy[sizeof(struct note)];

static void *take(void *arg) {
    (void)arg;
    struct note *note = __atomic_load_n(&shared, __ATOMIC_SEQ_CST);
    memcpy(copy, note->text, note->length);
    return NULL;
}

int main(void) {
    pthread_t taker;
    shared = calloc(1, sizeof *shared);
    shared->length = sizeof shared->text;
    pthread_create(&taker, NULL, take, NULL);
    pthread_join(taker, NULL);
    free(shared);
    puts("done");
    return 0;
}
