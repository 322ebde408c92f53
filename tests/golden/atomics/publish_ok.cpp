// primitive: release and acquire, std::memory_order_release
// kind: ok
// about: the object is published by a release store of its address and read after an acquire load.
#include <atomic>
#include <cstdio>
#include <thread>

struct Config {
    int size = 0;
};
static Config config;
static std::atomic<Config *> current{nullptr};

int main() {
    int seen = 8;
    std::thread writer([] {
        config.size = 8;
        current.store(&config, std::memory_order_release);
    });
    std::thread reader([&] {
        if (Config *c = current.load(std::memory_order_acquire))
            seen = c->size;
    });
    writer.join();
    reader.join();
    std::printf("seen %d\n", seen);
}
