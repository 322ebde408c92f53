// about: two threads make as many million accesses as the first argument says (default 1, 0: without end), for limits of trace and disk.
// exit: 0
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t table[1024], rounds;
static long long wanted = 1000000;

static void *write_on(void *arg) {
    uint32_t *mine = &table[*(int *)arg * 512];
    // One turn reads and writes one cell: two accesses, half of them for each thread.
    for (long long i = 0; wanted == 0 || i < wanted / 4; i++) {
        mine[i % 512] += (uint32_t)i;
        if (i % 4096 == 0) {
            pthread_mutex_lock(&lock);
            rounds++;
            pthread_mutex_unlock(&lock);
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t team[2];
    int numbers[2] = {0, 1};
    uint32_t sum = 0;
    if (argc > 1) wanted = atoll(argv[1]) * 1000000;
    for (int i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, write_on, &numbers[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    for (int i = 0; i < 1024; i++)
        sum += table[i];
    printf("sum %u in %u rounds\n", sum, rounds);
    return 0;
}
