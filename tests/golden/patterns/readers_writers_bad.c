// primitive: readers and writers
// kind: atomicity
// lines: 18 35
// about: a reader reads the balance and books on it in two separate sections, so that a writer's change is lost.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static pthread_mutex_t readers_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t writable;
static int readers, balance = 10;

static int read_balance(void) {
    pthread_mutex_lock(&readers_lock);
    if (++readers == 1)
        sem_wait(&writable);
    pthread_mutex_unlock(&readers_lock);
    int seen = balance; // (1)
    pthread_mutex_lock(&readers_lock);
    if (--readers == 0)
        sem_post(&writable);
    pthread_mutex_unlock(&readers_lock);
    return seen;
}

static void *reader(void *arg) {
    *(int *)arg = read_balance();
    return NULL;
}

static void *writer(void *arg) {
    int amount = *(int *)arg;
    int before = read_balance();
    sem_wait(&writable);
    balance = before + amount; // (2)
    sem_post(&writable);
    return NULL;
}

int main(void) {
    pthread_t team[4];
    int seen[2], amounts[2] = {5, 7};
    sem_init(&writable, 0, 1);
    for (int i = 0; i < 2; i++) {
        pthread_create(&team[i], NULL, reader, &seen[i]);
        pthread_create(&team[i + 2], NULL, writer, &amounts[i]);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(team[i], NULL);
    printf("%s, then %d\n", seen[0] >= 10 && seen[1] >= 10 ? "valid" : "torn", balance);
    return 0;
}
