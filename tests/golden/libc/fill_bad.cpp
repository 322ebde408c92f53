// primitive: memset, std::fill
// kind: race
// lines: 16 20
// about: the page is looked at while std::fill writes it.
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
        std::fill(page.begin(), page.end(), 7); // (1)
    });
    int seen;
    {
        seen = page[33]; // (2)
    }
    worker.join();
    std::printf("%s, then %d\n", seen == 0 || seen == 7 ? "valid" : "torn", page[39]);
}
