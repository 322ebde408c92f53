// primitive: check-then-act
// kind: atomicity
// lines: 14 18
// about: the stock is checked in one critical section and sold in another: more can be sold than there is.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int stock = 1, sold;

static void *buy(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    int available = stock > 0; // (1)
    pthread_mutex_unlock(&lock);
    if (available) {
        pthread_mutex_lock(&lock);
        stock--; // (2)
        sold++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, buy, NULL);
    pthread_create(&second, NULL, buy, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    printf("stock %d sold %d\n", stock, sold);
    return 0;
}
