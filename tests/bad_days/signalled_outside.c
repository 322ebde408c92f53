// primitive: a signal from another process
// kind: ok
// exit: 0
// about: the signal finds one thread computing; it comes at another step in every run, but not in a replay.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t got;
static volatile long steps, at;

static void on_signal(int number) {
    (void)number;
    got = 1;
    at = steps;
}

static void *other(void *arg) {
    static atomic_int work;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    for (int i = 0; i < 1000; i++)
        work++;
    return arg;
}

int main(void) {
    pthread_t thread;
    pid_t parent = getpid(), child;
    int status;
    signal(SIGUSR1, on_signal);
    pthread_create(&thread, NULL, other, NULL);
    child = fork();
    if (child == 0) {
        usleep(1000);
        kill(parent, SIGUSR1);
        _exit(0);
    }
    while (!got)
        steps++;
    pthread_join(thread, NULL);
    waitpid(child, &status, 0);
    printf("after %ld\n", at);
    return 0;
}
