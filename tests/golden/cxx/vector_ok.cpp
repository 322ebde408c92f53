// primitive: std::vector under a lock
// kind: ok
// about: growing and reading the vector both hold its mutex.
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

int main() {
    std::mutex mutex;
    std::vector<int> numbers;
    numbers.reserve(2);
    numbers.push_back(7);
    std::thread writer([&] {
        for (int i = 0; i < 4; i++) {
            std::lock_guard guard(mutex);
            numbers.push_back(i);
        }
    });
    int first;
    {
        std::lock_guard guard(mutex);
        first = numbers.front();
    }
    writer.join();
    std::printf("first %d of %zu\n", first, numbers.size());
}
