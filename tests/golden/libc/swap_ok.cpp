// primitive: std::swap of containers
// kind: ok
// about: the two buffers are swapped and looked at under a mutex.
#include <cstdio>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

int main() {
    std::mutex mutex;
    std::vector<int> front(3, 1), back(5, 2);
    std::thread worker([&] {
        std::lock_guard guard(mutex);
        std::swap(front, back);
    });
    std::size_t seen;
    {
        std::lock_guard guard(mutex);
        seen = front.size();
    }
    worker.join();
    std::printf("%s, then %zu\n", seen == 3 || seen == 5 ? "valid" : "torn", front.size());
}
