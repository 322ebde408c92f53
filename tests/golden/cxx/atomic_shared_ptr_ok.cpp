// primitive: std::atomic_load and std::atomic_store of std::shared_ptr
// kind: ok
// about: the configuration is swapped and read through the atomic functions of shared_ptr.
#include <atomic>
#include <cstdio>
#include <memory>
#include <thread>

static auto config = std::make_shared<int>(1);

int main() {
    int seen = 0;
    std::thread writer([] {
        std::atomic_store(&config, std::make_shared<int>(2));
    });
    std::thread reader([&] {
        auto current = std::atomic_load(&config);
        seen = *current;
    });
    writer.join();
    reader.join();
    std::printf("%s, then %d\n", seen == 1 || seen == 2 ? "valid" : "invalid", *config);
}
