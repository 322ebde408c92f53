// about: a timer announces itself in a thread that the C library creates on its own.
// exit: 0
// flags: -lrt
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

static sem_t rung;
static atomic_int rings;

static void on_timer(union sigval value) {
    atomic_fetch_add(&rings, value.sival_int);
    sem_post(&rung);
}

int main(void) {
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_value.sival_int = 1};
    event.sigev_notify_function = on_timer;
    struct itimerspec often = {{0, 2000000}, {0, 2000000}};
    sem_init(&rung, 0, 0);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || timer_settime(timer, 0, &often, NULL) != 0) return 2;
    for (int i = 0; i < 3; i++)
        sem_wait(&rung);
    timer_delete(timer);
    printf("%s\n", atomic_load(&rings) >= 3 ? "rung" : "silent");
    return 0;
}
