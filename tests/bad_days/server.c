// primitive: accept, epoll, pipes between threads, clients in other processes
// kind: race
// lines: 60 89
// about: a server whose clients are processes that nobody controls: what they send comes in other pieces and at other times in
// every run. The workers look at the time that the main thread keeps. The socket is the argument.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { WORKERS = 2, CLIENTS = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int requests, bytes;
static unsigned now, last;
static int doors[WORKERS][2];
static volatile sig_atomic_t over;

struct client {
    int line;
};

static void stop(int number) {
    (void)number;
    over = 1;
}

static void watch(int epoll, int descriptor, void *about) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = about};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) != 0) abort();
}

static void *work(void *arg) {
    int door = *(int *)arg, epoll = epoll_create1(0);
    struct epoll_event events[4];
    watch(epoll, door, NULL);
    for (;;) {
        int count = epoll_wait(epoll, events, 4, -1);
        for (int i = 0; i < count; i++) {
            struct client *client = events[i].data.ptr;
            if (!client) {
                if (read(door, &client, sizeof client) != sizeof client) return NULL;
                watch(epoll, client->line, client);
                continue;
            }
            char buffer[64];
            ssize_t got;
            while ((got = read(client->line, buffer, sizeof buffer)) > 0) {
                pthread_mutex_lock(&lock);
                for (ssize_t at = 0; at < got; at++) requests += buffer[at] == '\n';
                bytes += got;
                last = now; // (1)
                pthread_mutex_unlock(&lock);
                if (memchr(buffer, '\n', got) && send(client->line, "done\n", 5, MSG_NOSIGNAL) < 0 && errno != EPIPE) abort();
            }
            if (got == 0 || errno != EAGAIN) {
                close(client->line);
                free(client);
            }
        }
    }
}

int main(int argc, char **argv) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (argc < 2) return 2;
    strncpy(address.sun_path, argv[1], sizeof address.sun_path - 1);
    signal(SIGTERM, stop);
    int door = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), epoll = epoll_create1(0);
    if (bind(door, (struct sockaddr *)&address, sizeof address) != 0 || listen(door, CLIENTS) != 0) return 3;
    watch(epoll, door, &door);
    pthread_t workers[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        if (pipe(doors[i]) != 0) return 4;
        pthread_create(&workers[i], NULL, work, &doors[i][0]);
    }
    for (unsigned turn = 0; !over;) {
        struct epoll_event event;
        int count = epoll_wait(epoll, &event, 1, 5);
        if (count == 0)
            now++; // (2)
        if (count <= 0) continue;
        int line;
        while ((line = accept4(door, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
            struct client *client = malloc(sizeof *client);
            client->line = line;
            if (write(doors[turn++ % WORKERS][1], &client, sizeof client) != sizeof client) return 5;
        }
    }
    for (int i = 0; i < WORKERS; i++) close(doors[i][1]);
    for (int i = 0; i < WORKERS; i++) pthread_join(workers[i], NULL);
    printf("%d requests, %d bytes\n", requests, bytes);
    return last > 1000000;
}
