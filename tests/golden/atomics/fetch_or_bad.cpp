// primitive: atomic_fetch_or, std::atomic::fetch_or
// kind: atomicity
// lines: 12 13
// about: each thread changes the word by a load and a store, with room for a lost bit in between.
#include <atomic>
#include <cstdio>
#include <thread>

static std::atomic<unsigned> word{0};

static void work(unsigned me) {
    unsigned before = word.load(std::memory_order_acquire); // (1)
    word.store(before | (1u << me), std::memory_order_release); // (2)
}

int main() {
    std::thread first(work, 0), second(work, 1);
    first.join();
    second.join();
    std::printf("word %u\n", word.load());
}
