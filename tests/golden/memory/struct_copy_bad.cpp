// primitive: copy of a struct
// kind: race
// lines: 24 28
// about: the snapshot is copied without the mutex.
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
        latest = next; // (1)
    });
    Snapshot copy;
    {
        copy = latest; // (2)
    }
    writer.join();
    std::printf("%s, then %d\n", copy.values[11] == 5L * copy.version ? "whole" : "torn", latest.version);
}
