// primitive: atomics of 16 bytes
// kind: atomicity
// lines: 16 18
// flags: -mcx16 -latomic
// about: the range is loaded, changed and stored: the other thread's change is lost in between.
#include <atomic>
#include <cstdio>
#include <thread>

struct alignas(16) Range {
    long from, to;
};
static std::atomic<Range> range{Range{50, 50}};

static void widen(long below, long above) {
    Range before = range.load(), after; // (1)
    after = {before.from - below, before.to + above};
    range.store(after); // (2)
}

int main() {
    std::thread first(widen, 5, 1), second(widen, 20, 2);
    first.join();
    second.join();
    Range end = range.load();
    std::printf("from %ld to %ld\n", end.from, end.to);
}
