// primitive: atomic_compare_exchange_strong, std::atomic::compare_exchange_strong
// kind: ok
// about: a seat is sold by one compare-and-swap from free to taken.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

static atomic_int owner[2];

static void *buy(void *arg) {
    int me = (int)(intptr_t)arg;
    intptr_t bought = 0;
    for (int seat = 0; seat < 2; seat++) {
        int nobody = 0;
        if (atomic_compare_exchange_strong(&owner[seat], &nobody, me))
            bought++;
    }
    return (void *)bought;
}

int main(void) {
    pthread_t team[2];
    intptr_t sold = 0;
    for (intptr_t i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, buy, (void *)(i + 1));
    for (int i = 0; i < 2; i++) {
        void *bought;
        pthread_join(team[i], &bought);
        sold += (intptr_t)bought;
    }
    printf("sold %d\n", (int)sold);
    return 0;
}
