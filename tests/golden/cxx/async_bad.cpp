// primitive: std::async
// kind: race
// lines: 16 16
// about: both halves are summed into one captured variable.
#include <cstdio>
#include <future>
#include <numeric>
#include <vector>

int main() {
    const std::vector<int> numbers{1, 2, 3, 4, 5, 6};
    auto middle = numbers.begin() + 3;
    int sum = 0;
    auto add = [&sum](auto from, auto to) {
        for (; from != to; ++from)
            sum += *from; // (1) (2)
    };
    auto left = std::async(std::launch::async, [&] { add(numbers.begin(), middle); });
    auto right = std::async(std::launch::async, [&] { add(middle, numbers.end()); });
    left.get();
    right.get();
    std::printf("sum %d\n", sum);
}
