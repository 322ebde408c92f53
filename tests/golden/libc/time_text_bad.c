// primitive: gmtime_r, strftime
// kind: race
// lines: 17 26
// about: the parts of the date are looked at while gmtime_r fills them in.
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static time_t when = 86400;
static struct tm parts;
static char text[16];

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    gmtime_r(&when, &parts); // (1)
    strftime(text, sizeof text, "%Y-%m-%d", &parts);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    int seen = parts.tm_year; // (2)
    pthread_join(worker, NULL);
    printf("%s, then %s\n", seen == 0 || seen == 70 ? "valid" : "torn", text);
    return 0;
}
