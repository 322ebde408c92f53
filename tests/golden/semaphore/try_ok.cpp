// primitive: sem_trywait, std::binary_semaphore::try_acquire
// kind: ok
// about: without the permit the sample is dropped.
#include <cstdio>
#include <semaphore>
#include <thread>

static std::binary_semaphore permit(1);
static int samples;

static void add(int &dropped) {
    bool owned = permit.try_acquire();
    if (!owned)
        dropped = 1;
    else
        samples++;
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
