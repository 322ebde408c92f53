// about: Park's thesis, Algorithm 4.4: a cycle of four threads is one cycle, told once, and none that decomposes comes with it.
// races: none
// deadlocks: 15-15-15-15
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { RING = 4 };
static pthread_mutex_t locks[RING];
static int passed[RING];

static void *pass(void *arg) {
    int me = (int)(intptr_t)arg;
    pthread_mutex_lock(&locks[me]);
    pthread_mutex_lock(&locks[(me + 1) % RING]);
    passed[me] = 1;
    pthread_mutex_unlock(&locks[(me + 1) % RING]);
    pthread_mutex_unlock(&locks[me]);
    return NULL;
}

int main(void) {
    pthread_t team[RING];
    for (int i = 0; i < RING; i++)
        pthread_mutex_init(&locks[i], NULL);
    for (intptr_t i = 0; i < RING; i++)
        pthread_create(&team[i], NULL, pass, (void *)i);
    for (int i = 0; i < RING; i++)
        pthread_join(team[i], NULL);
    printf("%d\n", passed[0] + passed[1] + passed[2] + passed[3]);
    return 0;
}
