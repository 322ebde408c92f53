// primitive: REWEAVE_ATOMIC_BEGIN
// kind: ok
// about: As check_then_act_bad.c, with one lock held from the check to the act.
#include <pthread.h>
#include <reweave.h>
#include <stdio.h>

static pthread_mutex_t list = PTHREAD_MUTEX_INITIALIZER;
static int items = 2;

static void *consume(void *arg) {
    REWEAVE_ATOMIC_BEGIN("consume");
    pthread_mutex_lock(&list);
    if (items > 0)
        items--;
    pthread_mutex_unlock(&list);
    REWEAVE_ATOMIC_END();
    return arg;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, consume, NULL);
    pthread_create(&two, NULL, consume, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    printf("%d items left\n", items);
    return 0;
}
