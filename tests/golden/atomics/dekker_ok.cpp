// primitive: sequentially consistent order, std::memory_order_seq_cst
// kind: ok
// about: with sequentially consistent flags at most one thread finds the other's flag down.
#include <atomic>
#include <cstdio>
#include <thread>

static std::atomic<bool> left{false}, right{false};
static int inside;

static void enter(std::atomic<bool> &mine, std::atomic<bool> &other) {
    mine = true;
    bool free = !other;
    if (free)
        inside++;
    mine = false;
}

int main() {
    std::thread first(enter, std::ref(left), std::ref(right));
    std::thread second(enter, std::ref(right), std::ref(left));
    first.join();
    second.join();
    std::printf("%s\n", inside <= 2 ? "plausible" : "lost");
}
