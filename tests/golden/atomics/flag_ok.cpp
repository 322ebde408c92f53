// primitive: atomic_flag_test_and_set, std::atomic_flag::test_and_set
// kind: ok
// about: the flag is set with acquire and cleared with release around the write.
#include <atomic>
#include <cstdio>
#include <thread>

static std::atomic_flag busy;
static int shared;

static void work() {
    for (int i = 0; i < 3; i++)
        if (!busy.test_and_set(std::memory_order_acquire)) {
            shared++;
            busy.clear(std::memory_order_release);
        }
}

int main() {
    std::thread first(work), second(work);
    first.join();
    second.join();
    std::printf("%s\n", shared >= 1 && shared <= 6 ? "plausible" : "lost");
}
