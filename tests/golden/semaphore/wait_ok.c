// primitive: sem_wait, std::counting_semaphore
// kind: ok
// about: a semaphore that starts at one lets a single thread in at a time.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static sem_t permit;
static int used;

static void *work(void *arg) {
    (void)arg;
    for (int i = 0; i < 3; i++) {
        sem_wait(&permit);
        used++;
        sem_post(&permit);
    }
    return NULL;
}

int main(void) {
    pthread_t team[2];
    sem_init(&permit, 0, 1);
    for (int i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    int left;
    sem_getvalue(&permit, &left);
    sem_destroy(&permit);
    printf("used %d, %d left\n", used, left);
    return 0;
}
