// primitive: select
// kind: ok
// about: select picks the readable pipe, and the read brings the order.
#include <pthread.h>
#include <stdio.h>
#include <sys/select.h>
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
    int seen = 0;
    if (pipe(ends) != 0) return 2;
    pthread_create(&worker, NULL, work, NULL);
    for (int ready = 0; ready <= 0;) {
        fd_set wanted;
        struct timeval patience = {0, 100000};
        FD_ZERO(&wanted);
        FD_SET(ends[0], &wanted);
        ready = select(ends[0] + 1, &wanted, NULL, NULL, &patience);
    }
    if (read(ends[0], &token, 1) != 1) return 2;
    seen = reply;
    pthread_join(worker, NULL);
    printf("reply %d\n", seen);
    return 0;
}
