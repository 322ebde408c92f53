// primitive: select
// kind: race
// lines: 14 31
// about: the reply is looked at when select returns by its timeout, before anything was read.
#include <pthread.h>
#include <stdio.h>
#include <sys/select.h>
#include <unistd.h>

static int ends[2], reply;

static void *work(void *arg) {
    (void)arg;
    reply = 5; // (1)
    if (write(ends[1], "!", 1) != 1)
        perror("write");
    return NULL;
}

int main(void) {
    pthread_t worker;
    char token;
    int seen = 0;
    if (pipe(ends) != 0) return 2;
    pthread_create(&worker, NULL, work, NULL);
    for (int ready = 0; ready <= 0;) {
        fd_set wanted;
        struct timeval patience = {0, 100000};
        FD_ZERO(&wanted);
        FD_SET(ends[0], &wanted);
        seen = reply; // (2)
        ready = select(ends[0] + 1, &wanted, NULL, NULL, &patience);
    }
    if (read(ends[0], &token, 1) != 1) return 2;
    pthread_join(worker, NULL);
    printf("%s\n", seen == 0 || seen == 5 ? "valid" : "torn");
    return 0;
}
