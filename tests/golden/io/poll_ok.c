// primitive: poll
// kind: ok
// about: poll says that the pipe is readable, and the read brings the order.
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int ends[2], reply;

static void *work(void *arg) {
    (void)arg;
    reply = 5;
    if (write(ends[1], "!", 1) != 1)
        perror("write");
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
    int seen = reply;
    pthread_join(worker, NULL);
    printf("reply %d\n", seen);
    return 0;
}
