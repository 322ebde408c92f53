// primitive: std::jthread, std::stop_token
// kind: ok
// about: the work is read after the jthread has been asked to stop and joined.
#include <cstdio>
#include <stop_token>
#include <thread>

int main() {
    int rounds = 0;
    bool notified = false;
    std::jthread worker([&](std::stop_token stop) {
        std::stop_callback note(stop, [&] { notified = true; });
        for (int i = 0; i < 5 && !stop.stop_requested(); i++)
            rounds++;
    });
    worker.request_stop();
    worker.join();
    int seen = rounds;
    std::printf("%s\n", seen >= 0 && seen <= 5 ? "stopped" : "lost");
    return notified && rounds > 5;
}
