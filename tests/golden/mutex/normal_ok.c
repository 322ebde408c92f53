// primitive: PTHREAD_MUTEX_NORMAL
// kind: ok
// about: the audit is called with the lock held and does not take it again.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock;
static int balance, overdrafts;

static void audit(void) {
    overdrafts++;
}

static void *deposit(void *arg) {
    pthread_mutex_lock(&lock);
    balance += *(int *)arg;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *withdraw(void *arg) {
    pthread_mutex_lock(&lock);
    balance -= *(int *)arg;
    if (balance < 0)
        audit();
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_NORMAL);
    pthread_mutex_init(&lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    pthread_t in, out;
    int amount = 30;
    pthread_create(&in, NULL, deposit, &amount);
    pthread_create(&out, NULL, withdraw, &amount);
    pthread_join(in, NULL);
    pthread_join(out, NULL);
    printf("balance %d\n", balance);
    pthread_mutex_destroy(&lock);
    return 0;
}
