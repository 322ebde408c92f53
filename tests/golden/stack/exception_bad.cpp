// primitive: C++ exception through deep calls
// kind: race
// lines: 15 15
// about: the destructor that runs while the stack is unwound counts without the mutex.
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <thread>

static std::mutex mutex;
static int unwound, caught;

struct Level {
    ~Level() {
        unwound++; // (1) (2)
    }
};

static int descend(int depth) {
    Level level;
    if (depth == 0)
        throw std::runtime_error("bottom");
    return descend(depth - 1) + 1;
}

static void work(int depth) {
    try {
        descend(depth);
    } catch (const std::runtime_error &) {
        std::lock_guard guard(mutex);
        caught++;
    }
}

int main() {
    std::thread first(work, 4), second(work, 6);
    first.join();
    second.join();
    std::printf("unwound %d caught %d\n", unwound, caught);
}
