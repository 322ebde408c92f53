// primitive: check-then-act
// kind: ok
// about: the check of the stock and the sale are one critical section.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int stock = 1, sold;

static void *buy(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    if (stock > 0) {
        stock--;
        sold++;
    }
    pthread_mutex_unlock(&lock);
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
