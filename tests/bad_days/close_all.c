// about: closes every descriptor above 2, as daemons do, whoever may have opened it, and goes on with threads and files.
// exit: 0
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *work(void *arg) {
    (void)arg;
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&lock);
        count++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t before, after;
    pthread_create(&before, NULL, work, NULL);
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    pthread_create(&after, NULL, work, NULL);
    pthread_join(before, NULL);
    pthread_join(after, NULL);
    FILE *file = fopen("/dev/null", "w");
    if (!file) return 2;
    fprintf(file, "%d\n", count);
    fclose(file);
    printf("count %d\n", count);
    return 0;
}
