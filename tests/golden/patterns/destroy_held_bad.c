// primitive: destroying a held mutex
// kind: misuse
// lines: 14 24
// about: the mutex is destroyed while another thread may hold it.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock); // (1)
    count++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    usleep(20000);
    pthread_mutex_destroy(&lock); // (2)
    pthread_join(worker, NULL);
    printf("count %d\n", count);
    return 0;
}
