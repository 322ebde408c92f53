// primitive: clock_gettime, gettimeofday, time, std::chrono clocks
// kind: ok
// about: each thread reads the clocks into places of its own; time never runs backwards.
#include <pthread.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>

static void *watch(void *arg) {
    int forward = 1;
    struct timeval coarse;
    struct timespec stamp;
    long long before = 0;
    for (int i = 0; i < 3; i++) {
        clock_gettime(CLOCK_MONOTONIC, &stamp);
        long long now = stamp.tv_sec * 1000000000LL + stamp.tv_nsec;
        forward &= now >= before;
        before = now;
    }
    gettimeofday(&coarse, NULL);
    time_t second = time(NULL);
    *(int *)arg = forward && second + 1 >= coarse.tv_sec;
    return NULL;
}

int main(void) {
    pthread_t team[2];
    int forward[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, watch, &forward[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    printf("%s\n", forward[0] && forward[1] ? "forward" : "backward");
    return 0;
}
