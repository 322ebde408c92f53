// Two tellers move money between the same two accounts, each locking the account it takes from first.
// Build: reweave cc -g -o transfer transfer.c -lpthread
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t savings_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t checking_lock = PTHREAD_MUTEX_INITIALIZER;
static int savings = 100, checking = 100;

static void *save(void *unused) {
    (void)unused;
    pthread_mutex_lock(&checking_lock);
    pthread_mutex_lock(&savings_lock);
    checking -= 30;
    savings += 30;
    pthread_mutex_unlock(&savings_lock);
    pthread_mutex_unlock(&checking_lock);
    return NULL;
}

static void *spend(void *unused) {
    (void)unused;
    pthread_mutex_lock(&savings_lock);
    pthread_mutex_lock(&checking_lock); // the bug: the other order than in save
    savings -= 20;
    checking += 20;
    pthread_mutex_unlock(&checking_lock);
    pthread_mutex_unlock(&savings_lock);
    return NULL;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, save, NULL);
    pthread_create(&two, NULL, spend, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    printf("savings %d, checking %d\n", savings, checking);
    return 0;
}
