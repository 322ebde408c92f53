// primitive: nanosleep, usleep, sleep, std::this_thread::sleep_for
// kind: race
// lines: 16 19
// about: a long sleep is taken for a guarantee that the worker is done.
#include <chrono>
#include <cstdio>
#include <thread>

using namespace std::chrono_literals;

int main() {
    int baked = 0;
    std::thread oven([&] {
        std::this_thread::sleep_for(3ms);
        std::this_thread::sleep_until(std::chrono::steady_clock::now() + 2ms);
        baked = 1; // (1)
    });
    std::this_thread::sleep_for(200ms);
    int seen = baked; // (2)
    oven.join();
    std::printf("baked %d\n", seen);
}
