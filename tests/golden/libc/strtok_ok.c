// primitive: strtok_r
// kind: ok
// about: the list is cut up and looked at under a lock.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char list[24] = "red,green,blue";
static int words;

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    char *rest;
    for (char *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
        words++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    pthread_mutex_lock(&lock);
    char seen = list[3];
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    printf("%s, then %d\n", seen == 0 || seen == ',' ? "valid" : "torn", words);
    return 0;
}
