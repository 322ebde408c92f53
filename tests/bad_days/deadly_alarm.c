// primitive: alarm without a handler
// kind: ok
// exit: 0
// about: sleeps take no time, and the alarm that would kill the process is a real one: it does not go off for them. The seconds
// to sleep are the argument.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int seconds;

static void *nap(void *arg) {
    sleep(2 * seconds);
    return arg;
}

int main(int count, char **arguments) {
    pthread_t napper;
    seconds = count > 1 ? atoi(arguments[1]) : 0;
    alarm(60);
    pthread_create(&napper, NULL, nap, NULL);
    sleep(seconds);
    pthread_join(napper, NULL);
    printf("still there, %s\n", alarm(0) > 30 ? "in time" : "late");
    return 0;
}
