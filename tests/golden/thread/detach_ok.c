// primitive: pthread_detach, std::thread::detach
// kind: ok
// about: the detached thread announces its result under a lock, and main waits for it.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static int finished;
static int answer;

static void *compute(void *arg) {
    int result = *(int *)arg * 6;
    pthread_mutex_lock(&lock);
    answer = result;
    finished = 1;
    pthread_cond_signal(&done);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    static int input = 7;
    pthread_t worker;
    pthread_create(&worker, NULL, compute, &input);
    pthread_detach(worker);
    pthread_mutex_lock(&lock);
    while (!finished)
        pthread_cond_wait(&done, &lock);
    printf("answer %d\n", answer);
    pthread_mutex_unlock(&lock);
    return 0;
}
