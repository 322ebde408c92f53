// primitive: std::vector under a lock
// kind: race
// lines: 18 26
// about: the reader keeps a reference to an element that growing the vector moves away.
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
            numbers.push_back(i); // (1)
        }
    });
    const int *front;
    {
        std::lock_guard guard(mutex);
        front = &numbers.front();
    }
    int first = *front; // (2)
    writer.join();
    std::printf("first %d of %zu\n", first, numbers.size());
}
