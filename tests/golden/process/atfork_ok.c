// primitive: pthread_atfork
// kind: ok
// tsan: may report: libtsan takes the parent's thread for a leak of the child
// about: handlers around fork take the lock, so that the child inherits it free.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int entries;

static void take(void) { pthread_mutex_lock(&lock); }
static void give(void) { pthread_mutex_unlock(&lock); }

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    entries++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    int status = -1;
    pthread_atfork(take, give, give);
    pthread_create(&worker, NULL, work, NULL);
    pid_t child = fork();
    if (child < 0) return 2;
    if (child == 0) {
        alarm(5); // a child that hangs does not outlive the test
        pthread_mutex_lock(&lock);
        entries++;
        pthread_mutex_unlock(&lock);
        _exit(0);
    }
    waitpid(child, &status, 0);
    pthread_join(worker, NULL);
    printf("child status %d\n", status);
    return 0;
}
