// about: an exception leaves a thread function uncaught, which terminates the program, with another thread at work.
// exit: 134
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <thread>

static std::mutex mutex;
static int count;

static void work(bool fails) {
    for (int i = 0; i < 3; i++) {
        std::lock_guard guard(mutex);
        count++;
    }
    if (fails)
        throw std::runtime_error("nobody catches this");
}

int main() {
    std::thread good(work, false), bad(work, true);
    good.join();
    bad.join();
    std::puts("not reached");
}
