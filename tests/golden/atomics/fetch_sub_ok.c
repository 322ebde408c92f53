// primitive: atomic_fetch_sub, std::atomic::fetch_sub
// kind: ok
// about: each thread changes the word by one atomic fetch_sub.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

static atomic_uint word = 100;

static void *work(void *arg) {
    unsigned me = (unsigned)(uintptr_t)arg;
    unsigned before = atomic_fetch_sub(&word, me + 1);
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
