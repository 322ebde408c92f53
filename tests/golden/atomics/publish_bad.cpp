// primitive: release and acquire, std::memory_order_release
// kind: race
// lines: 18 25
// about: the reader loads the address relaxed: it has the object's address but not its contents.
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
        config.size = 8; // (1)
        current.store(&config, std::memory_order_release);
    });
    std::thread reader([&] {
        for (int i = 0; i < 1000 && !current.load(std::memory_order_relaxed); i++)
            std::this_thread::yield();
        if (Config *c = current.load(std::memory_order_relaxed))
            seen = c->size; // (2)
    });
    writer.join();
    reader.join();
    std::printf("seen %d\n", seen);
}
