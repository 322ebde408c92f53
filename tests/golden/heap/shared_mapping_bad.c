// primitive: one page mapped twice
// kind: race
// lines: 18 31
// tsan: misses it: libtsan tells locations by address
// about: the two views of one page are used at the same time; the addresses differ, the memory does not.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *left, *right;

static void *add(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    left[0] += 1; // (1)
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t adder;
    int file = memfd_create("page", 0);
    if (file < 0 || ftruncate(file, 4096) != 0) return 2;
    left = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    right = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (left == MAP_FAILED || right == MAP_FAILED) return 2;
    pthread_create(&adder, NULL, add, NULL);
    right[0] += 2; // (2)
    pthread_join(adder, NULL);
    printf("count %d\n", left[0]);
    return 0;
}
