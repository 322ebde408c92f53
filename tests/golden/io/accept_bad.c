// primitive: blocking call (accept, connect)
// kind: race
// lines: 22 38
// about: the client writes its name after the byte is sent.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static socklen_t length;
static int name;

static void *call(void *arg) {
    (void)arg;
    int line = socket(AF_UNIX, SOCK_STREAM, 0);
    if (line < 0 || connect(line, (struct sockaddr *)&address, length) != 0) return NULL;
    if (send(line, "x", 1, 0) != 1)
        perror("send");
    name = 17; // (1)
    close(line);
    return NULL;
}

int main(void) {
    pthread_t caller;
    char token;
    // An abstract address (it begins with a zero byte) leaves no file behind.
    int text = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "golden-%010ld", (long)getpid());
    length = (socklen_t)((size_t)text + 1 + sizeof address.sun_family);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 1) != 0) return 2;
    pthread_create(&caller, NULL, call, NULL);
    int line = accept(listener, NULL, NULL);
    if (line < 0 || recv(line, &token, 1, 0) != 1) return 2;
    int seen = name; // (2)
    pthread_join(caller, NULL);
    printf("name %d\n", seen);
    return 0;
}
