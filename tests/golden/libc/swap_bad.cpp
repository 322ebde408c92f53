// primitive: std::swap of containers
// kind: race
// lines: 16 20
// about: the front buffer is looked at while the two are swapped.
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
        std::swap(front, back); // (1)
    });
    std::size_t seen;
    {
        seen = front.size(); // (2)
    }
    worker.join();
    std::printf("%s, then %zu\n", seen == 3 || seen == 5 ? "valid" : "torn", front.size());
}
