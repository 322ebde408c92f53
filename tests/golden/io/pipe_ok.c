// primitive: pipe, read, write
// kind: ok
// about: what was written before a byte is sent through the pipe is there once it has been received.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int ends[2];
static int first, second;

static void *produce(void *arg) {
    (void)arg;
    first = 1;
    second = 2;
    if (write(ends[1], "x", 1) != 1)
        perror("write");
    return NULL;
}

int main(void) {
    pthread_t producer;
    char token;
    if (pipe(ends) != 0) return 2;
    pthread_create(&producer, NULL, produce, NULL);
    if (read(ends[0], &token, 1) != 1)
        perror("read");
    int sum = first + second;
    pthread_join(producer, NULL);
    printf("sum %d\n", sum);
    return 0;
}
