// about: an uninstrumented library (foreign_thread_lib.c) calls instrumented code from a thread that it created itself.
// exit: 0
#include <pthread.h>
#include <stdio.h>

void foreign_start(void (*call)(int));
void foreign_stop(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;

static void add(int number) {
    pthread_mutex_lock(&lock);
    sum += number;
    pthread_mutex_unlock(&lock);
}

int main(void) {
    foreign_start(add);
    for (int i = 0; i < 3; i++)
        add(10);
    foreign_stop();
    printf("sum %d\n", sum);
    return 0;
}
