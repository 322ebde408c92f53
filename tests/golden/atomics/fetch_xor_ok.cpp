// primitive: atomic_fetch_xor, std::atomic::fetch_xor
// kind: ok
// about: each thread changes the word by one atomic fetch_xor.
#include <atomic>
#include <cstdio>
#include <thread>

static std::atomic<unsigned> word{0};

static void work(unsigned me) {
    word.fetch_xor(1u << me, std::memory_order_acq_rel);
}

int main() {
    std::thread first(work, 0), second(work, 1);
    first.join();
    second.join();
    std::printf("word %u\n", word.load());
}
