// primitive: fork, waitpid
// kind: ok
// about: the status that waitpid fills in is read after the reaper has been joined.
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child;
static int status;

static void *reap(void *arg) {
    (void)arg;
    if (waitpid(child, &status, 0) != child)
        perror("waitpid");
    return NULL;
}

int main(void) {
    pthread_t reaper;
    child = fork();
    if (child < 0) return 2;
    if (child == 0)
        _exit(7);
    pthread_create(&reaper, NULL, reap, NULL);
    pthread_join(reaper, NULL);
    printf("child ended with %d\n", WEXITSTATUS(status));
    return 0;
}
