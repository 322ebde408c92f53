// primitive: sprintf, snprintf
// kind: ok
// about: the text that sprintf makes is looked at under a lock.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char text[32], brief[8];

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    sprintf(text, "%d of %s", 3, "seven");
    snprintf(brief, sizeof brief, "%.6s", text);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    pthread_mutex_lock(&lock);
    char seen = text[0];
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    printf("%s, then %s\n", seen == 0 || seen == '3' ? "valid" : "torn", text);
    return 0;
}
