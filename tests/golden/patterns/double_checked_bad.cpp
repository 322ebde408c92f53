// primitive: double-checked locking
// kind: race
// lines: 23 33
// about: outside the lock the pointer is loaded relaxed: what it points to need not have arrived.
#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>

struct Service {
    int port = 0;
};
static Service only;
static std::mutex mutex;
static std::atomic<Service *> instance{nullptr};

static Service &service() {
    Service *seen = instance.load(std::memory_order_relaxed);
    if (!seen) {
        std::lock_guard guard(mutex);
        seen = instance.load(std::memory_order_relaxed);
        if (!seen) {
            only.port = 80; // (1)
            seen = &only;
            instance.store(seen, std::memory_order_release);
        }
    }
    return *seen;
}

int main() {
    int a = 0, b = 0;
    std::thread first([&] { a = service().port; }); // (2)
    std::thread second([&] { b = service().port; });
    first.join();
    second.join();
    std::printf("ports %d %d\n", a, b);
}
