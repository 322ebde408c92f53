// A semaphore as a lock.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

sem_t semaphore;
int counter;

void *add(void *arg) {
    sem_wait(&semaphore);
    counter++;
    sem_post(&semaphore);
    return arg;
}

int main(void) {
    pthread_t one, two;
    sem_init(&semaphore, 0, 1);
    pthread_create(&one, 0, add, 0);
    pthread_create(&two, 0, add, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    assert(counter == 2);
    return 0;
}
