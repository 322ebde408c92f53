// primitive: pthread_mutex_trylock, std::mutex::try_lock
// kind: ok
// about: a failed try skips the job and counts it apart.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int booked;

static void *work(void *arg) {
    int skipped = 0;
    for (int i = 0; i < 3; i++) {
        if (pthread_mutex_trylock(&lock) == 0) {
            booked++;
            pthread_mutex_unlock(&lock);
        } else {
            skipped++;
        }
    }
    *(int *)arg = skipped;
    return NULL;
}

int main(void) {
    pthread_t team[2];
    int skipped[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, work, &skipped[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    printf("jobs %d\n", booked + skipped[0] + skipped[1]);
    return 0;
}
