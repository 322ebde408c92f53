// about: two threads pass a plain volatile turn to and fro, spinning without ever yielding.
// exit: 0
#include <pthread.h>
#include <stdio.h>

static volatile int turn;

static void *play(void *arg) {
    int me = *(int *)arg;
    for (int i = 0; i < 3; i++) {
        while (turn % 2 != me)
            ;
        turn = turn + 1;
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
