// primitive: atomic_compare_exchange_strong, std::atomic::compare_exchange_strong
// kind: atomicity
// lines: 16 17
// about: a seat is checked and then sold: it can be sold twice.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

static atomic_int owner[2];

static void *buy(void *arg) {
    int me = (int)(intptr_t)arg;
    intptr_t bought = 0;
    for (int seat = 0; seat < 2; seat++) {
        if (atomic_load(&owner[seat]) == 0) { // (1)
            atomic_store(&owner[seat], me); // (2)
            bought++;
        }
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
