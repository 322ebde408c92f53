// primitive: atomic_flag_test_and_set, std::atomic_flag::test_and_set
// kind: race
// lines: 15 15
// about: the flag is set and cleared relaxed, which orders nothing else.
#include <atomic>
#include <cstdio>
#include <thread>

static std::atomic_flag busy;
static int shared;

static void work() {
    for (int i = 0; i < 3; i++)
        if (!busy.test_and_set(std::memory_order_relaxed)) {
            shared++; // (1) (2)
            busy.clear(std::memory_order_relaxed);
        }
}

int main() {
    std::thread first(work), second(work);
    first.join();
    second.join();
    std::printf("%s\n", shared >= 1 && shared <= 6 ? "plausible" : "lost");
}
