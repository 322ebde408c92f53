// primitive: std::latch
// kind: ok
// about: the latch counts down once both parts are loaded.
#include <cstdio>
#include <latch>
#include <thread>

int main() {
    int parts[2] = {};
    std::latch loaded(2);
    auto load = [&](int i) {
        parts[i] = 10 * (i + 1);
        loaded.count_down();
    };
    std::thread first(load, 0), second(load, 1);
    loaded.wait();
    int sum = parts[0] + parts[1];
    first.join();
    second.join();
    std::printf("sum %d\n", sum);
}
