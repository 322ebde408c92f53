// primitive: sequentially consistent order, std::memory_order_seq_cst
// kind: race
// lines: 20 20
// about: with relaxed flags both threads can find the other's flag down and enter together.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#define ORDER memory_order_relaxed

static atomic_int wants[2];
static int inside;

static void *enter(void *arg) {
    int me = (int)(intptr_t)arg;
    for (int i = 0; i < 3; i++) {
        atomic_store_explicit(&wants[me], 1, ORDER);
        if (!atomic_load_explicit(&wants[1 - me], ORDER))
            inside++; // (1) (2)
        atomic_store_explicit(&wants[me], 0, ORDER);
    }
    return NULL;
}

int main(void) {
    pthread_t team[2];
    for (intptr_t i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, enter, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    printf("%s\n", inside >= 0 && inside <= 6 ? "plausible" : "lost");
    return 0;
}
