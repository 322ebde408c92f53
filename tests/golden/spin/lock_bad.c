// primitive: pthread_spin_lock
// kind: race
// lines: 17 17
// about: the histogram's total is updated after the spin lock is released.
#include <pthread.h>
#include <stdio.h>

static pthread_spinlock_t lock;
static int histogram[4], total;

static void *count(void *arg) {
    const int *samples = arg;
    for (int i = 0; i < 4; i++) {
        pthread_spin_lock(&lock);
        histogram[samples[i]]++;
        pthread_spin_unlock(&lock);
        total++; // (1) (2)
    }
    return NULL;
}

int main(void) {
    static const int samples[2][4] = {{0, 1, 2, 1}, {3, 1, 0, 2}};
    pthread_t team[2];
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    for (int i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, count, (void *)samples[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    pthread_spin_destroy(&lock);
    printf("ones %d of %d\n", histogram[1], total);
    return 0;
}
