// primitive: clock_gettime, gettimeofday, time, std::chrono clocks
// kind: race
// lines: 17 17
// about: both threads keep the latest stamp in one shared variable.
#include <chrono>
#include <cstdio>
#include <thread>

using Clock = std::chrono::steady_clock;
static Clock::time_point latest;

static void watch(bool &forward) {
    forward = true;
    for (int i = 0; i < 3; i++) {
        auto now = Clock::now();
        forward = forward && now >= Clock::time_point{};
        latest = now; // (1) (2)
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
