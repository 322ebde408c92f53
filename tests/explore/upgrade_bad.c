// Both readers give the lock up to write: a check is out of date.
#include <assert.h>
#include <pthread.h>

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int made;

void *make(void *arg) {
    pthread_rwlock_rdlock(&lock);
    int missing = made == 0;
    pthread_rwlock_unlock(&lock);
    if (missing) {
        pthread_rwlock_wrlock(&lock);
        made++;
        pthread_rwlock_unlock(&lock);
    }
    return arg;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, make, 0);
    pthread_create(&two, 0, make, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    assert(made == 1);
    return 0;
}
