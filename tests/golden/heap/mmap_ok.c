// primitive: mmap, munmap
// kind: ok
// about: the mapping is removed after its reader has been joined, and mapped again for the next.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static void *read_page(void *arg) {
    int *page = arg;
    page[1] = page[0] + 1;
    return NULL;
}

int main(void) {
    int sum = 0;
    for (int round = 1; round <= 2; round++) {
        pthread_t reader;
        int *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) return 2;
        page[0] = round;
        pthread_create(&reader, NULL, read_page, page);
        pthread_join(reader, NULL);
        sum += page[1];
        munmap(page, 4096);
    }
    printf("sum %d\n", sum);
    return 0;
}
