// primitive: sem_trywait, std::binary_semaphore::try_acquire
// kind: race
// lines: 17 17
// tsan: misses it unless the try fails in that run
// about: without the permit the sample is added all the same.
#include <cstdio>
#include <semaphore>
#include <thread>

static std::binary_semaphore permit(1);
static int samples;

static void add(int &dropped) {
    bool owned = permit.try_acquire();
    if (!owned)
        dropped = 1;
    samples++; // (1) (2)
    if (owned)
        permit.release();
}

int main() {
    int a = 0, b = 0;
    std::thread first(add, std::ref(a)), second(add, std::ref(b));
    first.join();
    second.join();
    std::printf("%s\n", samples + a + b >= 2 ? "complete" : "incomplete");
}
