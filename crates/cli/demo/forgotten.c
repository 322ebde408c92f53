// The second messenger is sent off and never waited for.
// Build: reweave cc -g -o forgotten forgotten.c -lpthread
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int delivered;

static void *deliver(void *unused) {
    (void)unused;
    delivered++;
    return NULL;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, deliver, NULL);
    pthread_create(&two, NULL, deliver, NULL); // the bug: neither joined nor detached
    pthread_join(one, NULL);
    while (delivered < 2)
        ;
    printf("all delivered\n");
    return 0;
}
