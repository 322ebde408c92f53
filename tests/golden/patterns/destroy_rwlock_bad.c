// primitive: using a destroyed read-write lock or spin lock
// kind: misuse
// lines: 18 20 34
// about: the flag says that the reader has begun, not that it is done with the lock.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static pthread_rwlock_t lock;
static pthread_spinlock_t spin;
static atomic_int begun;
static int value, seen;

static void *reader(void *arg) {
    pthread_spin_lock(&spin);
    pthread_spin_unlock(&spin);
    atomic_store(&begun, 1);
    pthread_rwlock_rdlock(&lock); // (1)
    seen = value;
    pthread_rwlock_unlock(&lock); // (2)
    return arg;
}

int main(void) {
    pthread_t thread;
    pthread_rwlock_init(&lock, NULL);
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    pthread_create(&thread, NULL, reader, NULL);
    pthread_rwlock_wrlock(&lock);
    value = 1;
    pthread_rwlock_unlock(&lock);
    if (atomic_load(&begun)) {
        pthread_spin_destroy(&spin);
        pthread_rwlock_destroy(&lock); // (3)
    }
    pthread_join(thread, NULL);
    printf("read\n");
    return 0;
}
