// primitive: memcpy, std::copy
// kind: ok
// about: the row is copied and looked at under a mutex.
#include <algorithm>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

int main() {
    std::mutex mutex;
    const std::vector<int> from(20, 3);
    std::vector<int> to(20, 0);
    std::thread worker([&] {
        std::lock_guard guard(mutex);
        std::copy(from.begin(), from.end(), to.begin());
    });
    int seen;
    {
        std::lock_guard guard(mutex);
        seen = to[11];
    }
    worker.join();
    std::printf("%s, then %d\n", seen == 0 || seen == 3 ? "valid" : "torn", to[19]);
}
