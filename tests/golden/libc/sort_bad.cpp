// primitive: qsort, bsearch, std::sort
// kind: race
// lines: 16 20
// about: the numbers are looked at while std::sort moves them.
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
        std::sort(numbers.begin(), numbers.end()); // (1)
    });
    int seen;
    {
        seen = numbers[0]; // (2)
    }
    worker.join();
    std::printf("%s, then %d\n", seen >= 1 && seen <= 6 ? "valid" : "torn", numbers[0]);
}
