// primitive: fork, pipe to the child
// kind: race
// lines: 15 29
// about: the buffer for the child's answer is looked at before the thread that reads it is joined.
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int ends[2];
static char answer[8];

static void *listen_to_child(void *arg) {
    (void)arg;
    if (read(ends[0], answer, sizeof answer - 1) < 0) // (1)
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
    char early = answer[0]; // (2)
    pthread_join(listener, NULL);
    waitpid(child, NULL, 0);
    printf("%s: %s\n", early ? "early" : "late", answer);
    return 0;
}
