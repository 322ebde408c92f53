// primitive: std::async
// kind: ok
// about: each half is summed into a value of its own and the futures are asked for it.
#include <cstdio>
#include <future>
#include <numeric>
#include <vector>

int main() {
    const std::vector<int> numbers{1, 2, 3, 4, 5, 6};
    auto middle = numbers.begin() + 3;
    auto left = std::async(std::launch::async, [&] { return std::accumulate(numbers.begin(), middle, 0); });
    auto right = std::async(std::launch::async, [&] { return std::accumulate(middle, numbers.end(), 0); });
    int sum = left.get() + right.get();
    std::printf("sum %d\n", sum);
}
