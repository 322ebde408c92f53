// about: a threaded program forks without exec; parent and child both go on creating threads.
// exit: 0
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *work(void *arg) {
    (void)arg;
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&lock);
        count++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static int run_two(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, work, NULL);
    pthread_create(&second, NULL, work, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return count;
}

int main(void) {
    pthread_t before;
    int status;
    pthread_create(&before, NULL, work, NULL);
    // The lock is held over the fork, so that the child does not inherit it
    // from the thread it does not have.
    pthread_mutex_lock(&lock);
    pid_t child = fork();
    if (child < 0) return 2;
    pthread_mutex_unlock(&lock);
    if (child == 0) {
        int from = count;
        _exit(run_two() - from);
    }
    run_two();
    pthread_join(before, NULL);
    waitpid(child, &status, 0);
    printf("parent %d, child %d\n", count, WEXITSTATUS(status));
    return 0;
}
