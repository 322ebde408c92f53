// Two tellers share one account. Most of the time the books balance; some interleavings lose money.
// Build: reweave cc -g -o bank bank.c -lpthread
#include <pthread.h>
#include <stdio.h>

enum { ROUNDS = 3, AMOUNT = 10, START = 100 };

static pthread_mutex_t account_lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = START;

static void *withdraw(void *unused) {
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&account_lock);
        balance -= AMOUNT;
        pthread_mutex_unlock(&account_lock);
    }
    return NULL;
}

static void *deposit(void *unused) {
    (void)unused;
    for (int i = 0; i < ROUNDS; i++)
        balance += AMOUNT; // the bug: the lock is missing on this path
    return NULL;
}

int main(void) {
    pthread_t teller, customer;
    pthread_create(&teller, NULL, deposit, NULL);
    pthread_create(&customer, NULL, withdraw, NULL);
    pthread_join(teller, NULL);
    pthread_join(customer, NULL);
    printf("balance: %d (should be %d)\n", balance, START);
    return balance != START;
}
