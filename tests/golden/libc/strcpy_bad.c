// primitive: strcpy, strncpy, strcat
// kind: race
// lines: 16 26
// about: the name is looked at while strcpy writes it.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
char word[8] = "weave"; // not static: keeps the calls from being expanded in place
static char name[16], padded[8];

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    strcpy(name, word); // (1)
    strcat(name, "r");
    strncpy(padded, word, sizeof padded);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    char seen = name[1]; // (2)
    pthread_join(worker, NULL);
    printf("%s, then %s %s\n", seen == 0 || seen == 'e' ? "valid" : "torn", name, padded);
    return 0;
}
