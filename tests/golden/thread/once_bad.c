// primitive: pthread_once, std::call_once
// kind: race
// lines: 15 11
// about: a home-made check on a plain variable lets two threads set up at the same time.
#include <pthread.h>
#include <stdio.h>

static int page_size;

static void set_up(void) {
    page_size = 4096; // (2)
}

static void *work(void *arg) {
    if (page_size == 0) // (1)
        set_up();
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
