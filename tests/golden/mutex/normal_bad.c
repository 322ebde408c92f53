// primitive: PTHREAD_MUTEX_NORMAL
// kind: deadlock
// lines: 25 12 18
// about: the audit takes a normal mutex its caller already holds, but only if the withdrawal comes before the deposit.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock;
static int balance, overdrafts;

static void audit(void) {
    pthread_mutex_lock(&lock); // (2)
    overdrafts++;
    pthread_mutex_unlock(&lock);
}

static void *deposit(void *arg) {
    pthread_mutex_lock(&lock);
    balance += *(int *)arg;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *withdraw(void *arg) {
    pthread_mutex_lock(&lock); // (1)
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
