// about: the main thread recurses 100,000 deep, within the usual stack of 8 MB, while another thread works; then again after coming back.
// exit: 0
// tsan: crashes: libtsan keeps 65,536 frames at most
#include <pthread.h>
#include <stdio.h>

enum { DEPTH = 100000 };
static unsigned shared;

// What is done on the way back keeps the compilers from turning it into a loop;
// few locals keep a frame small enough for the stack, instrumented as well.
__attribute__((noinline)) static unsigned descend(unsigned depth) {
    return depth == 0 ? shared : descend(depth - 1) * 3 ^ depth;
}

static void *work(void *arg) {
    int *own = arg;
    for (int i = 0; i < 10; i++)
        ++*own;
    return NULL;
}

int main(void) {
    pthread_t worker;
    int own = 0;
    shared = 4;
    pthread_create(&worker, NULL, work, &own);
    unsigned first = descend(DEPTH), second = descend(DEPTH);
    pthread_join(worker, NULL);
    printf("%s %u, own %d\n", first == second ? "same" : "different", first, own);
    return 0;
}
