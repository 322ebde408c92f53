// primitive: std::jthread, std::stop_token
// kind: race
// lines: 16 19
// tsan: misses it unless the thread gets to work before it is stopped
// about: the work is read after the request to stop, which does not wait for the thread.
#include <cstdio>
#include <stop_token>
#include <thread>

int main() {
    int rounds = 0;
    bool notified = false;
    std::jthread worker([&](std::stop_token stop) {
        std::stop_callback note(stop, [&] { notified = true; });
        for (int i = 0; i < 5 && !stop.stop_requested(); i++)
            rounds++; // (1)
    });
    worker.request_stop();
    int seen = rounds; // (2)
    worker.join();
    std::printf("%s\n", seen >= 0 && seen <= 5 ? "stopped" : "lost");
    return notified && rounds > 5;
}
