// primitive: pthread_cond_clockwait, std::condition_variable::wait_for
// kind: ok
// about: wait_for with a predicate says whether the report is there.
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
        std::unique_lock lock(mutex);
        if (changed.wait_for(lock, std::chrono::milliseconds(500), [] { return ready; }))
            seen = report;
    });
    std::thread writer([] {
        report = 8;
        std::lock_guard guard(mutex);
        ready = true;
        changed.notify_one();
    });
    reader.join();
    writer.join();
    std::printf("%s\n", seen == 7 || seen == 8 ? "valid" : "invalid");
}
