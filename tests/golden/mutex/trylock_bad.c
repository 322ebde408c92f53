// primitive: pthread_mutex_trylock, std::mutex::try_lock
// kind: race
// lines: 16 19
// tsan: misses it unless the try fails in that run
// about: after a failed try the job is booked all the same, without the lock.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int booked;

static void *work(void *arg) {
    int skipped = 0;
    for (int i = 0; i < 3; i++) {
        if (pthread_mutex_trylock(&lock) == 0) {
            booked++; // (1)
            pthread_mutex_unlock(&lock);
        } else {
            booked++; // (2)
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
