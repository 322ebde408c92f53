// primitive: atomic_fetch_add, std::atomic::fetch_add
// kind: ok
// about: each thread changes the word by one atomic fetch_add.
#include <atomic>
#include <cstdio>
#include <thread>

static std::atomic<unsigned> word{0};

static void work(unsigned me) {
    word.fetch_add(me + 1, std::memory_order_acq_rel);
}

int main() {
    std::thread first(work, 0), second(work, 1);
    first.join();
    second.join();
    std::printf("word %u\n", word.load());
}
