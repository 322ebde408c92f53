// primitive: localtime, asctime
// kind: ok
// about: who needs the library's memory has it for itself until it is copied.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t library = PTHREAD_MUTEX_INITIALIZER;
static char days[2][32];

static void *work(void *arg) {
    long number = (long)arg;
    time_t when = (time_t)(number * 1000000000);
    pthread_mutex_lock(&library);
    strcpy(days[number], asctime(localtime(&when)));
    pthread_mutex_unlock(&library);
    return NULL;
}

int main(void) {
    pthread_t team[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, work, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    printf("%s%s", days[0], days[1]);
    return 0;
}
