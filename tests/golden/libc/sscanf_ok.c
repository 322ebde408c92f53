// primitive: sscanf
// kind: ok
// about: the fields that sscanf fills in are looked at under a lock.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char text[] = "12 apples 3.5";
static int count, fields;
static char what[16];
static double price;

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    fields = sscanf(text, "%d %15s %lf", &count, what, &price);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    pthread_mutex_lock(&lock);
    int seen = count;
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    printf("%s, then %d %s %.1f (%d)\n", seen == 0 || seen == 12 ? "valid" : "torn", count, what, price, fields);
    return 0;
}
