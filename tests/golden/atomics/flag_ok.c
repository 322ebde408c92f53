// primitive: atomic_flag_test_and_set, std::atomic_flag::test_and_set
// kind: ok
// about: only the thread that finds the flag clear writes, and it clears the flag when done.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_flag busy = ATOMIC_FLAG_INIT;
static int shared;

static void *work(void *arg) {
    (void)arg;
    for (int i = 0; i < 3; i++)
        if (!atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) {
            shared++;
            atomic_flag_clear_explicit(&busy, memory_order_release);
        }
    return NULL;
}

int main(void) {
    pthread_t team[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    printf("%s\n", shared >= 1 && shared <= 6 ? "plausible" : "lost");
    return 0;
}
