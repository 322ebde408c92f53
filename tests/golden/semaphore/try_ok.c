// primitive: sem_trywait, std::binary_semaphore::try_acquire
// kind: ok
// about: without a permit the thread does something else.
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
        if (owned)
            printed++;
        else
            deferred++;
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
