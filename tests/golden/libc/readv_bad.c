// primitive: readv, writev
// kind: race
// lines: 19 30
// about: the second part is looked at while readv fills it.
#include <pthread.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];
static char head[5], body[9];
static ssize_t got;

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    struct iovec places[2] = {{head, 4}, {body, 8}};
    got = readv(ends[0], places, 2); // (1)
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    struct iovec parts[2] = {{"head", 4}, {"the body", 8}};
    if (pipe(ends) != 0 || writev(ends[1], parts, 2) != 12)
        return 2;
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    char seen = body[0]; // (2)
    pthread_join(worker, NULL);
    printf("%s, then %s/%s (%d)\n", seen == 0 || seen == 't' ? "valid" : "torn", head, body, (int)got);
    return 0;
}
