// primitive: mmap, munmap
// kind: race
// lines: 15 28
// exit: 0 139
// tsan: misses it: libtsan forgets a region that is unmapped
// about: the mapping is removed while its reader may still be at it.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static void *read_page(void *arg) {
    int *page = arg;
    page[1] = page[0] + 1; // (1)
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
        usleep(20000);
        munmap(page, 4096); // (2)
        pthread_join(reader, NULL);
        sum += round + 1;
    }
    printf("sum %d\n", sum);
    return 0;
}
