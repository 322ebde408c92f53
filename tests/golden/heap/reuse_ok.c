// primitive: a reused heap address
// kind: ok
// about: a block that went through free and malloc is another location: its old and new users need no order among them.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct job {
    int *block, sum;
};

static void *work(void *arg) {
    struct job *job = arg;
    free(job->block);
    for (int round = 1; round <= 3; round++) {
        int *block = malloc(16 * sizeof *block);
        if (!block) abort();
        for (int i = 4; i < 8; i++)
            block[i] = round;
        for (int i = 4; i < 8; i++)
            job->sum += block[i];
        free(block);
    }
    return NULL;
}

int main(void) {
    pthread_t team[2];
    static struct job jobs[2] = {{NULL, 0}, {NULL, 0}};
    int *first = NULL, seen = 0;
    for (int i = 0; i < 2; i++) {
        first = malloc(16 * sizeof *first);
        if (!first) return 2;
        first[4] = 0;
        seen = first[4];
        jobs[i].block = first;
        pthread_create(&team[i], NULL, work, &jobs[i]);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    printf("sums %d %d, %s\n", jobs[0].sum, jobs[1].sum, seen >= 0 ? "read" : "negative");
    return 0;
}
