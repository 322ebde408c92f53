// primitive: strlen, strcmp, strchr
// kind: race
// lines: 17 27
// about: the title is rewritten while strlen reads it.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char title[32] = "golden";
static size_t length;
static int same, found;

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    length = strlen(title); // (1)
    same = strcmp(title, "golden") == 0;
    found = strchr(title, 'n') != NULL;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    title[0] = 'g'; // (2)
    pthread_join(worker, NULL);
    printf("length %zu same %d found %d\n", length, same, found);
    return 0;
}
