// primitive: free, twice
// kind: ok
// about: whoever takes the pointer out of its place under the lock frees it.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *buffer;

static void *release(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    char *mine = buffer;
    buffer = NULL;
    pthread_mutex_unlock(&lock);
    free(mine);
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
