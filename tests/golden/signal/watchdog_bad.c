// primitive: alarm as a watchdog
// kind: deadlock
// lines: 23 24 36 37
// tsan: reports the order of locks
// exit: 0 1
// about: two threads take two mutexes in opposite orders; when both are stuck, the alarm ends the program.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static int work;

static void on_alarm(int number) {
    static const char late[] = "timeout\n";
    (void)number;
    _exit(write(STDERR_FILENO, late, sizeof late - 1) < 0 ? 2 : 1);
}

static void *do_work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&first);
    pthread_mutex_lock(&second);
    work++;
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&first);
    return NULL;
}

int main(void) {
    pthread_t worker;
    signal(SIGALRM, on_alarm);
    alarm(30);
    pthread_create(&worker, NULL, do_work, NULL);
    pthread_mutex_lock(&second);
    pthread_mutex_lock(&first);
    work++;
    pthread_mutex_unlock(&first);
    pthread_mutex_unlock(&second);
    pthread_join(worker, NULL);
    alarm(0);
    printf("work %d\n", work);
    return 0;
}
