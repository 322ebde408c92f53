// primitive: std::atomic_load and std::atomic_store of std::shared_ptr
// kind: race
// lines: 15 18
// about: the reader copies the shared_ptr plainly while the writer swaps it atomically.
#include <atomic>
#include <cstdio>
#include <memory>
#include <thread>

static auto config = std::make_shared<int>(1);

int main() {
    int seen = 0;
    std::thread writer([] {
        std::atomic_store(&config, std::make_shared<int>(2)); // (1)
    });
    std::thread reader([&] {
        auto current = config; // (2)
        seen = *current;
    });
    writer.join();
    reader.join();
    std::printf("%s, then %d\n", seen == 1 || seen == 2 ? "valid" : "invalid", *config);
}
