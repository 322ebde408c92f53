// about: a thread aborts while another holds a lock.
// exit: 134
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *give_up(void *arg) {
    (void)arg;
    count++;
    abort();
}

int main(void) {
    pthread_t thread;
    pthread_mutex_lock(&lock);
    pthread_create(&thread, NULL, give_up, NULL);
    pthread_join(thread, NULL);
    pthread_mutex_unlock(&lock);
    puts("not reached");
    return 0;
}
