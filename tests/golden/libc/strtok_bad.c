// primitive: strtok_r
// kind: race
// lines: 18 27
// tsan: misses it: libtsan does not know strtok_r
// about: the list is looked at while strtok_r cuts it up.
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
    for (char *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) // (1)
        words++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    char seen = list[3]; // (2)
    pthread_join(worker, NULL);
    printf("%s, then %d\n", seen == 0 || seen == ',' ? "valid" : "torn", words);
    return 0;
}
