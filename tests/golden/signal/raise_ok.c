// primitive: raise, sig_atomic_t
// kind: ok
// about: each thread raises a signal to itself; the handler counts in a thread-local variable.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

static _Thread_local volatile sig_atomic_t count;

static void on_signal(int number) {
    (void)number;
    count = count + 1;
}

static void *work(void *arg) {
    raise(SIGUSR1);
    raise(SIGUSR1);
    *(int *)arg = (int)count;
    return NULL;
}

int main(void) {
    pthread_t team[2];
    int counts[2];
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, work, &counts[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    printf("%s\n", counts[0] + counts[1] >= 4 ? "all counted" : "some lost");
    return 0;
}
