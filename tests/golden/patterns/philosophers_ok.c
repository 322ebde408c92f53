// primitive: dining philosophers
// kind: ok
// about: everybody takes the fork with the lower number first.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { SEATS = 3 };
static pthread_mutex_t forks[SEATS];
static int meals[SEATS];

static void *dine(void *arg) {
    int seat = (int)(intptr_t)arg;
    int first = seat, second = (seat + 1) % SEATS;
    if (first > second) {
        first = second;
        second = seat;
    }
    pthread_mutex_lock(&forks[first]);
    pthread_mutex_lock(&forks[second]);
    meals[seat]++;
    pthread_mutex_unlock(&forks[second]);
    pthread_mutex_unlock(&forks[first]);
    return NULL;
}

int main(void) {
    pthread_t guests[SEATS];
    int sum = 0;
    for (int i = 0; i < SEATS; i++)
        pthread_mutex_init(&forks[i], NULL);
    for (intptr_t i = 0; i < SEATS; i++)
        pthread_create(&guests[i], NULL, dine, (void *)i);
    for (int i = 0; i < SEATS; i++) {
        pthread_join(guests[i], NULL);
        sum += meals[i];
    }
    printf("meals %d\n", sum);
    return 0;
}
