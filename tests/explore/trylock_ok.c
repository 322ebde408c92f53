// The one who does not get the lock counts that.
#include <assert.h>
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int done;
int missed[2];

void *work(void *arg) {
    int *own = arg;
    if (pthread_mutex_trylock(&lock) == 0) {
        done++;
        pthread_mutex_unlock(&lock);
    } else {
        *own = 1;
    }
    return 0;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, work, &missed[0]);
    pthread_create(&two, 0, work, &missed[1]);
    pthread_join(one, 0);
    pthread_join(two, 0);
    assert(done + missed[0] + missed[1] == 2);
    return 0;
}
