// primitive: pthread_spin_trylock
// kind: race
// lines: 16 19
// tsan: misses it unless the try fails in that run
// about: a failed try still bumps the shared count.
#include <pthread.h>
#include <stdio.h>

static pthread_spinlock_t lock;
static int fast;

static void *work(void *arg) {
    int slow = 0;
    for (int i = 0; i < 3; i++) {
        if (pthread_spin_trylock(&lock) == 0) {
            fast++; // (1)
            pthread_spin_unlock(&lock);
        } else {
            fast++; // (2)
        }
    }
    *(int *)arg = slow;
    return NULL;
}

int main(void) {
    pthread_t team[2];
    int slow[2];
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    for (int i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, work, &slow[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    pthread_spin_destroy(&lock);
    printf("steps %d\n", fast + slow[0] + slow[1]);
    return 0;
}
