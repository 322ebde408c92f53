// primitive: pthread_detach, std::thread::detach
// kind: race
// lines: 12 22
// about: main trusts that a sleep is long enough for the detached thread to have written its result.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int answer;

static void *compute(void *arg) {
    answer = *(int *)arg * 6; // (1)
    return NULL;
}

int main(void) {
    static int input = 7;
    pthread_t worker;
    pthread_create(&worker, NULL, compute, &input);
    pthread_detach(worker);
    usleep(20000);
    printf("answer %d\n", answer); // (2)
    return 0;
}
