// primitive: calloc
// kind: ok
// about: the last user of the zeroed table, told by an atomic counter, frees it.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 16 };
static int *table;
static atomic_int users = 2;

static void *use(void *arg) {
    int zeros = 0;
    for (int i = 4; i < CELLS; i++)
        zeros += table[i] == 0;
    *(int *)arg = zeros;
    if (atomic_fetch_sub(&users, 1) == 1)
        free(table);
    return NULL;
}

int main(void) {
    pthread_t team[2];
    int zeros[2];
    table = calloc(CELLS, sizeof *table);
    if (!table) return 2;
    for (int i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, use, &zeros[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    printf("%s\n", zeros[0] + zeros[1] == 2 * (CELLS - 4) ? "all zero" : "dirty");
    return 0;
}
