// primitive: pthread_cond_timedwait, std::condition_variable::wait_until
// kind: race
// lines: 23 26
// tsan: misses it unless the timeout is reached in that run
// about: the result of wait_until is ignored, so that a report still being written is read.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

static std::mutex mutex;
static std::condition_variable changed;
static bool ready;
static int report = 7;

int main() {
    int seen = 7;
    std::thread reader([&] {
        auto deadline = std::chrono::system_clock::now() + std::chrono::milliseconds(500);
        std::unique_lock lock(mutex);
        changed.wait_until(lock, deadline, [] { return ready; });
        seen = report; // (1)
    });
    std::thread writer([] {
        report = 8; // (2)
        std::lock_guard guard(mutex);
        ready = true;
        changed.notify_one();
    });
    reader.join();
    writer.join();
    std::printf("%s\n", seen == 7 || seen == 8 ? "valid" : "invalid");
}
