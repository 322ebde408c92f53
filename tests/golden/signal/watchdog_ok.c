// primitive: alarm as a watchdog
// kind: ok
// tsan: fine
// about: half a minute is enough for both threads, whoever goes first and though another sleeps an hour: the alarm does not go off.
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

static void *sleep_long(void *arg) {
    (void)arg;
    for (;;)
        sleep(3600);
    return NULL;
}

static void *do_work(void *arg) {
    (void)arg;
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&first);
        pthread_mutex_lock(&second);
        work++;
        pthread_mutex_unlock(&second);
        pthread_mutex_unlock(&first);
        usleep(10000);
    }
    return NULL;
}

int main(void) {
    pthread_t sleeper, worker;
    signal(SIGALRM, on_alarm);
    alarm(30);
    pthread_create(&sleeper, NULL, sleep_long, NULL);
    pthread_detach(sleeper);
    pthread_create(&worker, NULL, do_work, NULL);
    do_work(NULL);
    pthread_join(worker, NULL);
    unsigned left = alarm(0);
    printf("work %d\n", work);
    return left == 0;
}
