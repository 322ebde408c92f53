// primitive: free, twice
// kind: failure
// lines: 16 18
// exit: 0 134
// about: both threads can see the pointer before either clears it, and free it twice.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *buffer;

static void *release(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    char *mine = buffer; // (1)
    pthread_mutex_unlock(&lock);
    free(mine); // (2)
    pthread_mutex_lock(&lock);
    buffer = NULL;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t team[2];
    buffer = malloc(100);
    for (int i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, release, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    printf("%s\n", buffer ? "leaked" : "released");
    return 0;
}
