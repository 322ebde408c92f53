// primitive: pthread_rwlock_tryrdlock, pthread_rwlock_trywrlock, std::shared_mutex::try_lock_shared
// kind: ok
// about: whoever fails to get the lock leaves the table alone.
#include <pthread.h>
#include <stdio.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int table[2] = {7, 7};

static void *read_table(void *arg) {
    int seen = 7;
    if (pthread_rwlock_tryrdlock(&lock) == 0) {
        seen = table[0];
        pthread_rwlock_unlock(&lock);
    } else {
        seen = 7;
    }
    *(int *)arg = seen;
    return NULL;
}

static void *write_table(void *arg) {
    (void)arg;
    if (pthread_rwlock_trywrlock(&lock) == 0) {
        table[0] = 8;
        table[1] = 8;
        pthread_rwlock_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t reader, writer;
    int seen;
    pthread_create(&reader, NULL, read_table, &seen);
    pthread_create(&writer, NULL, write_table, NULL);
    pthread_join(reader, NULL);
    pthread_join(writer, NULL);
    printf("%s\n", table[0] == table[1] && (seen == 7 || seen == 8) ? "whole" : "torn");
    return 0;
}
