// primitive: recv, recvfrom
// kind: race
// lines: 17 28
// about: the buffer is looked at while recv fills it.
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];
static char line[16];
static ssize_t got;

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    got = recv(ends[0], line, 8, 0); // (1)
    got += recvfrom(ends[0], line + 3, 8, 0, NULL, NULL);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0 || send(ends[1], "one", 3, 0) != 3 || send(ends[1], "two", 3, 0) != 3)
        return 2;
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    char seen = line[2]; // (2)
    pthread_join(worker, NULL);
    printf("%s, then %s (%d)\n", seen == 0 || seen == 'e' ? "valid" : "torn", line, (int)got);
    return 0;
}
