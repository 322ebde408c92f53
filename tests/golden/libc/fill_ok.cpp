// primitive: memset, std::fill
// kind: ok
// about: the page is filled and looked at under a mutex.
#include <algorithm>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

int main() {
    std::mutex mutex;
    std::vector<unsigned char> page(40, 0);
    std::thread worker([&] {
        std::lock_guard guard(mutex);
        std::fill(page.begin(), page.end(), 7);
    });
    int seen;
    {
        std::lock_guard guard(mutex);
        seen = page[33];
    }
    worker.join();
    std::printf("%s, then %d\n", seen == 0 || seen == 7 ? "valid" : "torn", page[39]);
}
