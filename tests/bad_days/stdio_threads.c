// about: four threads print to the same stream at once; the library's own locks keep the lines whole. Their order is open, the last line is not.
// exit: 0
#include <pthread.h>
#include <stdio.h>

static void *say(void *arg) {
    int me = *(int *)arg;
    for (int i = 0; i < 5; i++)
        printf("thread %d says %d\n", me, i);
    flockfile(stdout);
    fputs("a line ", stdout);
    fputs("in two parts\n", stdout);
    funlockfile(stdout);
    fprintf(stderr, "thread %d is done\n", me);
    return NULL;
}

int main(void) {
    pthread_t team[4];
    int numbers[4];
    for (int i = 0; i < 4; i++) {
        numbers[i] = i;
        pthread_create(&team[i], NULL, say, &numbers[i]);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(team[i], NULL);
    puts("all said");
    return 0;
}
