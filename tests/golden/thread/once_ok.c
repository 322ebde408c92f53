// primitive: pthread_once, std::call_once
// kind: ok
// about: pthread_once runs the set-up exactly once and publishes it.
#include <pthread.h>
#include <stdio.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int page_size;

static void set_up(void) {
    page_size = 4096;
}

static void *work(void *arg) {
    pthread_once(&once, set_up);
    *(int *)arg = page_size * 2;
    return NULL;
}

int main(void) {
    pthread_t team[3];
    int sizes[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&team[i], NULL, work, &sizes[i]);
    int sum = 0;
    for (int i = 0; i < 3; i++) {
        pthread_join(team[i], NULL);
        sum += sizes[i];
    }
    printf("sum %d\n", sum);
    return 0;
}
