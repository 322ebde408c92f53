// about: one thread computes for about two seconds in registers alone, without an access that could be recorded, while another works and waits.
// exit: 0
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *compute(void *arg) {
    clock_t start = clock();
    register uint64_t x = 1;
    do
        for (register uint32_t i = 0; i < 100000000; i++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            __asm__ volatile("" : "+r"(x)); // the loop is not to be worked out at compile time
        }
    while (clock() - start < 2 * CLOCKS_PER_SEC);
    *(uint64_t *)arg = x;
    return NULL;
}

static void *work(void *arg) {
    (void)arg;
    for (int i = 0; i < 10; i++) {
        pthread_mutex_lock(&lock);
        count++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t computer, worker;
    uint64_t x = 0;
    pthread_create(&computer, NULL, compute, &x);
    pthread_create(&worker, NULL, work, NULL);
    pthread_join(worker, NULL);
    pthread_join(computer, NULL);
    printf("count %d, %s\n", count, x != 0 ? "computed" : "idle");
    return 0;
}
