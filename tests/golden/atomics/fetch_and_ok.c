// primitive: atomic_fetch_and, std::atomic::fetch_and
// kind: ok
// about: each thread changes the word by one atomic fetch_and.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

static atomic_uint word = 255;

static void *work(void *arg) {
    unsigned me = (unsigned)(uintptr_t)arg;
    unsigned before = atomic_fetch_and(&word, ~(1u << me));
    return (void *)(uintptr_t)before;
}

int main(void) {
    pthread_t team[2];
    for (uintptr_t i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, work, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    printf("word %u\n", atomic_load(&word));
    return 0;
}
