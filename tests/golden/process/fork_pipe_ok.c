// primitive: fork, pipe to the child
// kind: ok
// about: the child's answer comes through a pipe to a thread that is joined.
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int ends[2];
static char answer[8];

static void *listen_to_child(void *arg) {
    (void)arg;
    if (read(ends[0], answer, sizeof answer - 1) < 0)
        perror("read");
    return NULL;
}

int main(void) {
    pthread_t listener;
    if (pipe(ends) != 0) return 2;
    pid_t child = fork();
    if (child < 0) return 2;
    if (child == 0)
        _exit(write(ends[1], "yes", 3) != 3);
    close(ends[1]);
    pthread_create(&listener, NULL, listen_to_child, NULL);
    pthread_join(listener, NULL);
    waitpid(child, NULL, 0);
    printf("child says %s\n", answer);
    return 0;
}
