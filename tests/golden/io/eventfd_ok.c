// primitive: eventfd
// kind: ok
// tsan: may report: some versions of libtsan do not order eventfd
// about: the event counter is raised after the result is written.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int event, result;

static void *work(void *arg) {
    (void)arg;
    result = 12;
    if (eventfd_write(event, 1) != 0)
        perror("eventfd_write");
    return NULL;
}

int main(void) {
    pthread_t worker;
    uint64_t count = 0;
    event = eventfd(0, 0);
    if (event < 0) return 2;
    pthread_create(&worker, NULL, work, NULL);
    if (read(event, &count, sizeof count) != sizeof count) return 2;
    int seen = result;
    pthread_join(worker, NULL);
    printf("result %d\n", seen);
    return 0;
}
