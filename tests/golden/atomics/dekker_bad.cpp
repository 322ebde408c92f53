// primitive: sequentially consistent order, std::memory_order_seq_cst
// kind: race
// lines: 17 17
// tsan: misses it unless both are inside in that run
// about: one of the flags is read before the own flag is raised, so both threads can enter.
#include <atomic>
#include <cstdio>
#include <thread>

static std::atomic<bool> left{false}, right{false};
static int inside;

static void enter(std::atomic<bool> &mine, std::atomic<bool> &other) {
    bool free = !other;
    mine = true;
    if (free)
        inside++; // (1) (2)
    mine = false;
}

int main() {
    std::thread first(enter, std::ref(left), std::ref(right));
    std::thread second(enter, std::ref(right), std::ref(left));
    first.join();
    second.join();
    std::printf("%s\n", inside <= 2 ? "plausible" : "lost");
}
