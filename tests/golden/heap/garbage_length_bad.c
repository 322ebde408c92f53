// primitive: free, and a length in what was freed
// kind: race
// lines: 22 32
// exit: 0 139
// about: the length is read from a block that may be freed: then it is whatever the allocator put there, and the copy runs to the end of memory.
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
    memcpy(copy, note->text, note->length); // (1)
    return NULL;
}

int main(void) {
    pthread_t taker;
    shared = calloc(1, sizeof *shared);
    shared->length = sizeof shared->text;
    pthread_create(&taker, NULL, take, NULL);
    struct note *old = __atomic_load_n(&shared, __ATOMIC_SEQ_CST);
    free(old); // (2)
    pthread_join(taker, NULL);
    puts("done");
    return 0;
}
