// primitive: strlen, strcmp, strchr
// kind: ok
// about: the title is measured, compared and rewritten under a lock.
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
    length = strlen(title);
    same = strcmp(title, "golden") == 0;
    found = strchr(title, 'n') != NULL;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    pthread_mutex_lock(&lock);
    title[0] = 'g';
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    printf("length %zu same %d found %d\n", length, same, found);
    return 0;
}
