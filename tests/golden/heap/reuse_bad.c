// primitive: a reused heap address
// kind: race
// lines: 15 38 20
// about: a stale pointer to a freed block reads what the next owner of the address writes.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct job {
    int *block, sum;
};

static void *work(void *arg) {
    struct job *job = arg;
    free(job->block); // (1)
    for (int round = 1; round <= 3; round++) {
        int *block = malloc(16 * sizeof *block);
        if (!block) abort();
        for (int i = 4; i < 8; i++)
            block[i] = round; // (3)
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
        jobs[i].block = first;
        pthread_create(&team[i], NULL, work, &jobs[i]);
        seen |= first[4]; // (2)
    }
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    printf("sums %d %d, %s\n", jobs[0].sum, jobs[1].sum, seen >= 0 ? "read" : "negative");
    return 0;
}
