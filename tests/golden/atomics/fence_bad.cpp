// primitive: atomic_thread_fence, std::atomic_thread_fence
// kind: race
// lines: 20 20
// about: the flag goes down relaxed, and the fence came too early to cover what was done inside.
#include <atomic>
#include <cstdio>
#include <thread>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wtsan" // gcc warns about fences when it instruments
#endif

static std::atomic<int> wants[2];
static int inside;

static void enter(int me) {
    wants[me].store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!wants[1 - me].load(std::memory_order_acquire))
        inside++; // (1) (2)
    wants[me].store(0, std::memory_order_relaxed);
}

int main() {
    std::thread first(enter, 0), second(enter, 1);
    first.join();
    second.join();
    std::printf("%s\n", inside <= 2 ? "plausible" : "lost");
}
