// primitive: pthread_mutex_lock, std::mutex
// kind: ok
// about: every update of the balance holds the account's mutex.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t account = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100;

static void *deposit(void *arg) {
    (void)arg;
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&account);
        balance += 10;
        pthread_mutex_unlock(&account);
    }
    return NULL;
}

static void *withdraw(void *arg) {
    (void)arg;
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&account);
        balance -= 10;
        pthread_mutex_unlock(&account);
    }
    return NULL;
}

int main(void) {
    pthread_t in, out;
    pthread_create(&in, NULL, deposit, NULL);
    pthread_create(&out, NULL, withdraw, NULL);
    pthread_join(in, NULL);
    pthread_join(out, NULL);
    printf("balance %d\n", balance);
    return 0;
}
