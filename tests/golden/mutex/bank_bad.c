// primitive: pthread_mutex_lock, std::mutex
// kind: race
// lines: 13 14 22
// about: withdraw locks the account but deposit forgets to, so two updates of the balance can overlap and money is lost.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t account = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100;

static void *deposit(void *arg) {
    (void)arg;
    for (int i = 0; i < 3; i++)
        balance += 10; // (1)
    return NULL;
}

static void *withdraw(void *arg) {
    (void)arg;
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&account);
        balance -= 10; // (2)
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
