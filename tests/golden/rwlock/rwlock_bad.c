// primitive: pthread_rwlock_rdlock, pthread_rwlock_wrlock, std::shared_mutex
// kind: race
// lines: 16 27
// about: the writer takes the lock for reading only, so it overlaps the readers.
#include <pthread.h>
#include <stdio.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int low = 1, high = 1;

static void *read_both(void *arg) {
    int whole = 1;
    for (int i = 0; i < 2; i++) {
        pthread_rwlock_rdlock(&lock);
        whole &= low >= 1;
        whole &= high >= 1; // (1)
        pthread_rwlock_unlock(&lock);
    }
    *(int *)arg = whole;
    return NULL;
}

static void *write_both(void *arg) {
    (void)arg;
    for (int i = 2; i < 4; i++) {
        pthread_rwlock_rdlock(&lock);
        high = i; // (2)
        pthread_rwlock_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t readers[2], writer;
    int whole[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&readers[i], NULL, read_both, &whole[i]);
    pthread_create(&writer, NULL, write_both, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(readers[i], NULL);
    pthread_join(writer, NULL);
    printf("%s %d\n", whole[0] && whole[1] ? "whole" : "torn", high);
    return 0;
}
