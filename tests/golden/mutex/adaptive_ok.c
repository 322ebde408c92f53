// primitive: PTHREAD_MUTEX_ADAPTIVE_NP
// kind: ok
// about: the ticket counter is only touched under the adaptive mutex.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static int next_ticket;

static void *draw(void *arg) {
    int sum = 0;
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&lock);
        sum += ++next_ticket;
        pthread_mutex_unlock(&lock);
    }
    *(int *)arg = sum;
    return NULL;
}

int main(void) {
    pthread_t team[2];
    int sums[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, draw, &sums[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    printf("sum %d\n", sums[0] + sums[1]);
    return 0;
}
