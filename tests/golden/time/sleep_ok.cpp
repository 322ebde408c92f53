// primitive: nanosleep, usleep, sleep, std::this_thread::sleep_for
// kind: ok
// about: the sleeps only pace the work; the join orders it.
#include <chrono>
#include <cstdio>
#include <thread>

using namespace std::chrono_literals;

int main() {
    int baked = 0;
    std::thread oven([&] {
        std::this_thread::sleep_for(3ms);
        std::this_thread::sleep_until(std::chrono::steady_clock::now() + 2ms);
        baked = 1;
    });
    oven.join();
    int seen = baked;
    std::printf("baked %d\n", seen);
}
