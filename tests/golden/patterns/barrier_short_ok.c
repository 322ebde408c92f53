// primitive: barrier with a missing thread
// kind: ok
// about: as many threads arrive as the barrier expects.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all;
static int jobs = 2, done;

static void *work(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&lock);
        int some = jobs > 0;
        if (some) {
            jobs--;
            done++;
        }
        pthread_mutex_unlock(&lock);
    }
    pthread_barrier_wait(&all);
    return NULL;
}

int main(void) {
    pthread_t first, second;
    pthread_barrier_init(&all, NULL, 2);
    pthread_create(&first, NULL, work, NULL);
    pthread_create(&second, NULL, work, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    printf("done %d\n", done);
    return 0;
}
