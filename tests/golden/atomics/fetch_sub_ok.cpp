// primitive: atomic_fetch_sub, std::atomic::fetch_sub
// kind: ok
// about: each thread changes the word by one atomic fetch_sub.
#include <atomic>
#include <cstdio>
#include <thread>

static std::atomic<unsigned> word{100};

static void work(unsigned me) {
    word.fetch_sub(me + 1, std::memory_order_acq_rel);
}

int main() {
    std::thread first(work, 0), second(work, 1);
    first.join();
    second.join();
    std::printf("word %u\n", word.load());
}
