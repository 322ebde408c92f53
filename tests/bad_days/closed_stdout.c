// about: closes standard output (and input) and goes on; the descriptors are then reused by a pipe between two threads.
// exit: 0
#include <pthread.h>
#include <unistd.h>

static int ends[2];

static void *send_one(void *arg) {
    (void)arg;
    return write(ends[1], "x", 1) == 1 ? NULL : ends;
}

int main(void) {
    pthread_t sender;
    void *failed;
    char token = 0;
    close(0);
    close(1);
    if (pipe(ends) != 0 || ends[0] > 1) return 2;
    pthread_create(&sender, NULL, send_one, NULL);
    if (read(ends[0], &token, 1) != 1 || token != 'x') return 3;
    pthread_join(sender, &failed);
    return failed ? 4 : 0;
}
