// primitive: double-checked locking
// kind: race
// lines: 14 22
// about: the first check is a plain read.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int table[4];
static int *ready;

static int *get(void) {
    int *seen = ready; // (1)
    if (!seen) {
        pthread_mutex_lock(&lock);
        seen = ready;
        if (!seen) {
            for (int i = 0; i < 4; i++)
                table[i] = i + 1;
            seen = table;
            ready = seen; // (2)
        }
        pthread_mutex_unlock(&lock);
    }
    return seen;
}

static void *use(void *arg) {
    *(int *)arg = get()[3];
    return NULL;
}

int main(void) {
    pthread_t team[2];
    int seen[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, use, &seen[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    printf("seen %d %d\n", seen[0], seen[1]);
    return 0;
}
