// about: a thread runs a command by vfork and exec while another works.
// exit: 0
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int work_done;

static void *work(void *arg) {
    (void)arg;
    for (int i = 0; i < 5; i++)
        work_done++;
    return NULL;
}

static void *run(void *arg) {
    int status = -1;
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
        _exit(127);
    }
    if (child > 0)
        waitpid(child, &status, 0);
    *(int *)arg = WEXITSTATUS(status);
    return NULL;
}

int main(void) {
    pthread_t worker, runner;
    int status = 0;
    pthread_create(&worker, NULL, work, NULL);
    pthread_create(&runner, NULL, run, &status);
    pthread_join(worker, NULL);
    pthread_join(runner, NULL);
    printf("work %d, command %d\n", work_done, status);
    return 0;
}
