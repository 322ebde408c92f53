// primitive: copy of a struct
// kind: ok
// about: the snapshot is copied and assigned under the mutex.
#include <array>
#include <cstdio>
#include <mutex>
#include <thread>

struct Snapshot {
    int version = 0;
    std::array<long, 12> values{};
};

static std::mutex mutex;
static Snapshot latest;

int main() {
    std::thread writer([] {
        Snapshot next;
        next.version = 1;
        next.values.fill(5);
        std::lock_guard guard(mutex);
        latest = next;
    });
    Snapshot copy;
    {
        std::lock_guard guard(mutex);
        copy = latest;
    }
    writer.join();
    std::printf("%s, then %d\n", copy.values[11] == 5L * copy.version ? "whole" : "torn", latest.version);
}
