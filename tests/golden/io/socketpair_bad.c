// primitive: socketpair, send, recv
// kind: race
// lines: 19 34
// tsan: may miss it: libtsan orders by descriptor, not by message
// about: the client writes the page for the next request before the answer has come.
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>

static int ends[2];
static int page;

static void *serve(void *arg) {
    char request;
    int sum = 0;
    for (int i = 0; i < 2; i++) {
        if (recv(ends[1], &request, 1, 0) != 1)
            break;
        sum += page; // (1)
        if (send(ends[1], "a", 1, 0) != 1)
            break;
    }
    *(int *)arg = sum;
    return NULL;
}

int main(void) {
    pthread_t server;
    int sum = 0;
    char answer;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 2;
    pthread_create(&server, NULL, serve, &sum);
    for (int i = 1; i <= 2; i++) {
        page = i * 10; // (2)
        if (send(ends[0], "r", 1, 0) != 1) return 2;
    }
    for (int i = 1; i <= 2; i++)
        if (recv(ends[0], &answer, 1, 0) != 1) return 2;
    pthread_join(server, NULL);
    printf("sum %d\n", sum);
    return 0;
}
