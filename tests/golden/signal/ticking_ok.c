// primitive: a periodic timer beside a deadlock
// kind: ok
// tsan: fine
// about: two threads take two mutexes in the same order, and the handler of the timer only counts.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t ticks;

static void on_tick(int number) {
    (void)number;
    ticks = ticks + 1;
}

static void *other(void *arg) {
    pthread_mutex_lock(&first);
    pthread_mutex_lock(&second);
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&first);
    return arg;
}

int main(void) {
    pthread_t thread;
    struct itimerval period = {{0, 10000}, {0, 10000}};
    signal(SIGALRM, on_tick);
    setitimer(ITIMER_REAL, &period, NULL);
    pthread_create(&thread, NULL, other, NULL);
    pthread_mutex_lock(&first);
    pthread_mutex_lock(&second);
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&first);
    pthread_join(thread, NULL);
    printf("done\n");
    return 0;
}
