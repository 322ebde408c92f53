// One token and two threads that do not wait for it.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

sem_t semaphore;
int got[2];

void *take(void *arg) {
    int *own = arg;
    *own = sem_trywait(&semaphore) == 0;
    return 0;
}

int main(void) {
    pthread_t one, two;
    sem_init(&semaphore, 0, 1);
    pthread_create(&one, 0, take, &got[0]);
    pthread_create(&two, 0, take, &got[1]);
    pthread_join(one, 0);
    pthread_join(two, 0);
    assert(got[0] + got[1] == 1);
    return 0;
}
