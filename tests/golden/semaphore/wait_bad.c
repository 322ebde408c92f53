// primitive: sem_wait, std::counting_semaphore
// kind: race
// lines: 17 17
// tsan: misses it in most runs: each post orders the next wait, though not enough of them
// about: the semaphore starts at two, so that both threads are in at once.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static sem_t permit;
static int used;

static void *work(void *arg) {
    (void)arg;
    for (int i = 0; i < 3; i++) {
        sem_wait(&permit);
        used++; // (1) (2)
        sem_post(&permit);
    }
    return NULL;
}

int main(void) {
    pthread_t team[2];
    sem_init(&permit, 0, 2);
    for (int i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    int left;
    sem_getvalue(&permit, &left);
    sem_destroy(&permit);
    printf("used %d\n", used);
    return 0;
}
