// about: a threaded program replaces itself by a second instance of itself, from a thread, twice.
// exit: 0
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int count;

static void *next(void *arg) {
    char **argv = arg, number[12];
    int round = argv[1] ? atoi(argv[1]) : 0;
    count += round;
    if (round == 2)
        return NULL;
    snprintf(number, sizeof number, "%d", round + 1);
    execl("/proc/self/exe", argv[0], number, (char *)NULL);
    perror("execl");
    exit(2);
}

int main(int argc, char **argv) {
    pthread_t thread;
    (void)argc;
    pthread_create(&thread, NULL, next, argv);
    pthread_join(thread, NULL);
    printf("round %d\n", count);
    return 0;
}
