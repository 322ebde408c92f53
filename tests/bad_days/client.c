// primitive: a client of server.c, to be built without reweave
// kind: ok
// about: sends requests in pieces, and waits for each answer; how long it takes between pieces is another time in every run.
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static void dawdle(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    usleep((now.tv_nsec / 1000 * 7919 + getpid()) % 4000);
}

int main(int argc, char **argv) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char answer[16];
    if (argc < 2) return 2;
    strncpy(address.sun_path, argv[1], sizeof address.sun_path - 1);
    int line = socket(AF_UNIX, SOCK_STREAM, 0);
    for (int tries = 0; connect(line, (struct sockaddr *)&address, sizeof address) != 0; tries++) {
        if (tries == 2000) return 3;
        usleep(1000);
    }
    for (int i = 0; i < 5; i++) {
        dawdle();
        if (send(line, "please ", 7, MSG_NOSIGNAL) != 7) return 4;
        if (i % 2) dawdle();
        if (send(line, "count\n", 6, MSG_NOSIGNAL) != 6) return 5;
        if (read(line, answer, sizeof answer) <= 0) return 6;
    }
    return 0;
}
