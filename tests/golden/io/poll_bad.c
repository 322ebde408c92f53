// primitive: poll
// kind: race
// lines: 16 29
// about: the reply is written after the byte that makes the pipe readable.
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int ends[2], reply;

static void *work(void *arg) {
    (void)arg;
    if (write(ends[1], "!", 1) != 1)
        perror("write");
    reply = 5; // (1)
    return NULL;
}

int main(void) {
    pthread_t worker;
    char token;
    if (pipe(ends) != 0) return 2;
    pthread_create(&worker, NULL, work, NULL);
    struct pollfd wanted = {ends[0], POLLIN, 0};
    while (poll(&wanted, 1, 1000) == 0)
        ;
    if (read(ends[0], &token, 1) != 1) return 2;
    int seen = reply; // (2)
    pthread_join(worker, NULL);
    printf("reply %d\n", seen);
    return 0;
}
