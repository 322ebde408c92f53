// primitive: pipe, read, write
// kind: race
// lines: 17 28
// about: the second value is written after the byte is sent.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int ends[2];
static int first, second;

static void *produce(void *arg) {
    (void)arg;
    first = 1;
    if (write(ends[1], "x", 1) != 1)
        perror("write");
    second = 2; // (1)
    return NULL;
}

int main(void) {
    pthread_t producer;
    char token;
    if (pipe(ends) != 0) return 2;
    pthread_create(&producer, NULL, produce, NULL);
    if (read(ends[0], &token, 1) != 1)
        perror("read");
    int sum = first + second; // (2)
    pthread_join(producer, NULL);
    printf("sum %d\n", sum);
    return 0;
}
