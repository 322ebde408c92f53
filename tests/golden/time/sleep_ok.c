// primitive: nanosleep, usleep, sleep, std::this_thread::sleep_for
// kind: ok
// about: the sleeps only pace the work; the join orders it.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static int cooked;

static void *cook(void *arg) {
    (void)arg;
    struct timespec while_it_boils = {0, 3000000};
    nanosleep(&while_it_boils, NULL);
    usleep(1000);
    clock_nanosleep(CLOCK_MONOTONIC, 0, &while_it_boils, NULL);
    cooked = 1;
    return NULL;
}

int main(void) {
    pthread_t pot;
    pthread_create(&pot, NULL, cook, NULL);
    usleep(2000);
    pthread_join(pot, NULL);
    int seen = cooked;
    printf("cooked %d\n", seen);
    return 0;
}
