// primitive: atomics of 16 bytes
// kind: ok
// flags: -mcx16 -latomic
// about: the range grows by a compare-and-swap of both ends.
#include <atomic>
#include <cstdio>
#include <thread>

struct alignas(16) Range {
    long from, to;
};
static std::atomic<Range> range{Range{50, 50}};

static void widen(long below, long above) {
    Range before = range.load(), after;
    do
        after = {before.from - below, before.to + above};
    while (!range.compare_exchange_weak(before, after));
}

int main() {
    std::thread first(widen, 5, 1), second(widen, 20, 2);
    first.join();
    second.join();
    Range end = range.load();
    std::printf("from %ld to %ld\n", end.from, end.to);
}
