// primitive: clock_gettime, gettimeofday, time, std::chrono clocks
// kind: ok
// about: each thread has its own stamps; time never runs backwards.
#include <chrono>
#include <cstdio>
#include <thread>

using Clock = std::chrono::steady_clock;

static void watch(bool &forward) {
    Clock::time_point latest{};
    forward = true;
    for (int i = 0; i < 3; i++) {
        auto now = Clock::now();
        forward = forward && now >= Clock::time_point{};
        latest = now;
    }
    forward = forward && Clock::now() >= latest;
}

int main() {
    bool a = false, b = false;
    std::thread first(watch, std::ref(a)), second(watch, std::ref(b));
    first.join();
    second.join();
    std::printf("%s\n", a && b ? "forward" : "backward");
}
