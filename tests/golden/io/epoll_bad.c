// primitive: epoll_wait
// kind: race
// lines: 16 32
// about: the reply is written after the byte that wakes epoll.
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
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
    int poller = epoll_create1(0);
    if (poller < 0 || pipe(ends) != 0) return 2;
    struct epoll_event event = {.events = EPOLLIN, .data.fd = ends[0]};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, ends[0], &event) != 0) return 2;
    pthread_create(&worker, NULL, work, NULL);
    struct epoll_event fired;
    while (epoll_wait(poller, &fired, 1, -1) != 1)
        ;
    if (fired.data.fd != ends[0] || read(ends[0], &token, 1) != 1) return 2;
    int seen = reply; // (2)
    pthread_join(worker, NULL);
    printf("reply %d\n", seen);
    return 0;
}
