// about: the program kills itself with SIGKILL in the middle of its work; the trace must be readable up to there.
// exit: 137
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *work(void *arg) {
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&lock);
        count++;
        pthread_mutex_unlock(&lock);
        if (arg && i == 500)
            kill(getpid(), SIGKILL);
    }
    return NULL;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, work, NULL);
    pthread_create(&second, NULL, work, &count);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    puts("not reached");
    return 0;
}
