// primitive: strdup, strndup
// kind: ok
// about: the label is duplicated and rewritten under a lock.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char label[16] = "first label";
static char *copy, *beginning;

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    copy = strdup(label);
    beginning = strndup(label, 5);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    pthread_mutex_lock(&lock);
    label[0] = 'f';
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    printf("%s, %s\n", copy, beginning);
    free(copy);
    free(beginning);
    return 0;
}
