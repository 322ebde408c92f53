// primitive: timer_create with SIGEV_SIGNAL
// kind: race
// lines: 23 32
// tsan: may miss or report: libtsan defers signal handlers
// about: the handler finds the account in the signal, and changes it while the other thread does.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

struct account {
    int balance;
    atomic_int closed;
};

static struct account account;

static void on_payday(int number, siginfo_t *info, void *context) {
    struct account *own = info->si_value.sival_ptr;
    (void)number;
    (void)context;
    own->balance += 10; // (1)
    own->closed = 1;
}

static void *spend(void *arg) {
    struct account *own = arg;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    own->balance -= 3; // (2)
    return NULL;
}

int main(void) {
    pthread_t spender;
    timer_t payday;
    struct sigaction action = {.sa_sigaction = on_payday, .sa_flags = SA_SIGINFO};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_ptr = &account};
    struct itimerspec once = {.it_value = {.tv_nsec = 200000000}};
    struct itimerspec left;
    struct timespec nap = {.tv_sec = 60};
    sigaction(SIGRTMIN, &action, NULL);
    timer_create(CLOCK_MONOTONIC, &event, &payday);
    timer_settime(payday, 0, &once, NULL);
    pthread_create(&spender, NULL, spend, &account);
    while (!account.closed)
        nanosleep(&nap, NULL);
    pthread_join(spender, NULL);
    timer_gettime(payday, &left);
    timer_delete(payday);
    printf("balance %d\n", account.balance);
    return left.it_value.tv_nsec != 0;
}
