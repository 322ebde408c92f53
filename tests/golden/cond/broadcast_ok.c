// primitive: pthread_cond_broadcast, std::condition_variable::notify_all
// kind: ok
// about: the gate opens for everybody by a broadcast.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static int open_gate, passed;

static void *pass(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    while (!open_gate)
        pthread_cond_wait(&opened, &lock);
    passed++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t team[2];
    pthread_create(&team[0], NULL, pass, NULL);
    pthread_create(&team[1], NULL, pass, NULL);
    pthread_mutex_lock(&lock);
    open_gate = 1;
    pthread_cond_broadcast(&opened);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    printf("passed %d\n", passed);
    return 0;
}
