// about: to be built with the plain compiler: mutex, condition and join are all that can be recorded.
// exit: 0
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;

static void *play(void *arg) {
    int me = *(int *)arg;
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&lock);
        while (turn % 2 != me)
            pthread_cond_wait(&changed, &lock);
        turn++;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t team[2];
    int numbers[2] = {0, 1};
    for (int i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, play, &numbers[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    printf("turns %d\n", turn);
    return 0;
}
