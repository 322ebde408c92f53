// about: two thousand threads over the run, twenty at a time.
// exit: 0
#include <pthread.h>
#include <stdio.h>

enum { BATCHES = 100, AT_ONCE = 20 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t team[AT_ONCE];
    for (int batch = 0; batch < BATCHES; batch++) {
        for (int i = 0; i < AT_ONCE; i++)
            if (pthread_create(&team[i], NULL, work, NULL) != 0) return 2;
        for (int i = 0; i < AT_ONCE; i++)
            pthread_join(team[i], NULL);
    }
    printf("threads %d\n", count);
    return 0;
}
