// primitive: ppoll, pselect, epoll_pwait
// kind: race
// lines: 17 32
// about: the reply is written after the byte that makes the pipe readable.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static int ends[2], reply;

static void *work(void *arg) {
    if (write(ends[1], "!", 1) != 1)
        perror("write");
    reply = 5; // (1)
    return arg;
}

int main(void) {
    pthread_t worker;
    sigset_t none;
    char token;
    if (pipe(ends) != 0) return 2;
    sigemptyset(&none);
    pthread_create(&worker, NULL, work, NULL);
    struct pollfd wanted = {ends[0], POLLIN, 0};
    while (ppoll(&wanted, 1, NULL, &none) == 0)
        ;
    if (read(ends[0], &token, 1) != 1) return 2;
    int seen = reply; // (2)
    pthread_join(worker, NULL);
    printf("reply %d\n", seen);
    return 0;
}
