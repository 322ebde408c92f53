// Two bidders, one lock, no race: and yet the schedule decides who wins.
// Build: reweave cc -g -o auction auction.c -lpthread
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int winner;

static void *bid(void *who) {
    pthread_mutex_lock(&lock);
    winner = *(int *)who;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t one, two;
    int ada = 1, bob = 2;
    pthread_create(&one, NULL, bid, &ada);
    pthread_create(&two, NULL, bid, &bob);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    printf("bidder %d wins\n", winner);
    return 0;
}
