// primitive: sem_trywait, std::binary_semaphore::try_acquire
// kind: race
// lines: 20 20
// tsan: misses it unless the try fails in that run
// about: without a permit the thread goes on all the same.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static sem_t permit;
static int printed;

static void *print(void *arg) {
    int deferred = 0;
    for (int i = 0; i < 2; i++) {
        int owned = sem_trywait(&permit) == 0;
        if (!owned && errno != EAGAIN)
            return NULL;
        printed++; // (1) (2)
        if (owned)
            sem_post(&permit);
    }
    *(int *)arg = deferred;
    return NULL;
}

int main(void) {
    pthread_t team[2];
    int deferred[2] = {0, 0};
    sem_init(&permit, 0, 1);
    for (int i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, print, &deferred[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    sem_destroy(&permit);
    printf("pages %d\n", printed + deferred[0] + deferred[1]);
    return 0;
}
