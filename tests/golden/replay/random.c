// primitive: replay of random numbers
// kind: nondeterminism
// lines: 25 26
// exit: 0
// about: numbers from getrandom, rand and /dev/urandom steer two threads; a replay has to hand the same numbers out again.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned mixed = 1;

static void *mix(void *arg) {
    unsigned char bytes[4];
    int device = *(int *)arg;
    if (getrandom(bytes, 2, 0) != 2 || read(device, bytes + 2, 2) != 2)
        return NULL;
    for (int i = 0; i < 4; i++) {
        // The number decides how often the lock is taken, not only what is stored.
        for (int turn = bytes[i] % 3; turn >= 0; turn--) {
            pthread_mutex_lock(&lock);
            mixed = mixed * 31 + bytes[i];
            mixed ^= (unsigned)rand();
            pthread_mutex_unlock(&lock);
        }
    }
    return NULL;
}

int main(void) {
    pthread_t first, second;
    unsigned seed;
    int device = open("/dev/urandom", O_RDONLY);
    if (device < 0 || getentropy(&seed, sizeof seed) != 0) return 2;
    srand(seed);
    pthread_create(&first, NULL, mix, &device);
    pthread_create(&second, NULL, mix, &device);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    printf("mixed %08x\n", mixed);
    return 0;
}
