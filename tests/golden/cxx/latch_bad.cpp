// primitive: std::latch
// kind: race
// lines: 13 19
// about: the latch expects one part only, so that the other is read while it is loaded.
#include <cstdio>
#include <latch>
#include <thread>

int main() {
    int parts[2] = {};
    std::latch loaded(1);
    auto load = [&](int i) {
        parts[i] = 10 * (i + 1); // (1)
        if (i == 0)
            loaded.count_down();
    };
    std::thread first(load, 0), second(load, 1);
    loaded.wait();
    int sum = parts[0] + parts[1]; // (2)
    first.join();
    second.join();
    std::printf("sum %d\n", sum);
}
