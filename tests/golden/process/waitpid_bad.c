// primitive: fork, waitpid
// kind: race
// lines: 15 27
// about: the status is read while the reaper may be in waitpid.
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child;
static int status;

static void *reap(void *arg) {
    (void)arg;
    if (waitpid(child, &status, 0) != child) // (1)
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
    int early = status; // (2)
    pthread_join(reaper, NULL);
    if (early != 0 && early != status) return 2;
    printf("child ended with %d\n", WEXITSTATUS(status));
    return 0;
}
