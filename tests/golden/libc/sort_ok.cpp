// primitive: qsort, bsearch, std::sort
// kind: ok
// about: the numbers are sorted and looked at under a mutex.
#include <algorithm>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

int main() {
    std::mutex mutex;
    std::vector<int> numbers{5, 2, 6, 1, 4, 3};
    std::thread worker([&] {
        std::lock_guard guard(mutex);
        std::sort(numbers.begin(), numbers.end());
    });
    int seen;
    {
        std::lock_guard guard(mutex);
        seen = numbers[0];
    }
    worker.join();
    std::printf("%s, then %d\n", seen >= 1 && seen <= 6 ? "valid" : "torn", numbers[0]);
}
