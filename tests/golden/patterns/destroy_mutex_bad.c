// primitive: using a destroyed mutex, std::mutex in freed memory
// kind: misuse
// lines: 12 14 27
// about: the main thread destroys the mutex as soon as it is done with it itself; the worker may still need it.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock;
static int count;

static void add(void) {
    pthread_mutex_lock(&lock); // (1)
    count++;
    pthread_mutex_unlock(&lock); // (2)
}

static void *work(void *arg) {
    add();
    return arg;
}

int main(void) {
    pthread_t worker;
    pthread_mutex_init(&lock, NULL);
    pthread_create(&worker, NULL, work, NULL);
    add();
    pthread_mutex_destroy(&lock); // (3)
    pthread_join(worker, NULL);
    printf("count %d\n", count);
    return 0;
}
