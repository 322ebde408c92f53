// primitive: pthread_spin_trylock
// kind: ok
// about: a failed try takes the slow path, which touches nothing shared.
#include <pthread.h>
#include <stdio.h>

static pthread_spinlock_t lock;
static int fast;

static void *work(void *arg) {
    int slow = 0;
    for (int i = 0; i < 3; i++) {
        if (pthread_spin_trylock(&lock) == 0) {
            fast++;
            pthread_spin_unlock(&lock);
        } else {
            slow++;
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
