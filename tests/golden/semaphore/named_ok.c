// primitive: sem_open
// kind: ok
// about: a named semaphore hands the result over.
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

static sem_t *done;
static int result;

static void *work(void *arg) {
    (void)arg;
    result = 99;
    sem_post(done);
    return NULL;
}

int main(void) {
    char name[40];
    snprintf(name, sizeof name, "/golden-%010ld", (long)getpid());
    done = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
    if (done == SEM_FAILED) {
        perror("sem_open");
        return 2;
    }
    sem_unlink(name);
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    sem_wait(done);
    printf("result %d\n", result);
    pthread_join(worker, NULL);
    sem_close(done);
    return 0;
}
