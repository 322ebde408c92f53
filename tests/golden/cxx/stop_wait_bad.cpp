// primitive: std::stop_token with std::condition_variable_any
// kind: deadlock
// lines: 18 34
// about: the wait does not know the stop token: a thread asked to stop while it waits for work never wakes.
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <stop_token>
#include <thread>

static std::mutex mutex;
static std::condition_variable_any changed;
static int queued = 1, handled;

static void serve(std::stop_token stop) {
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
        changed.wait(lock, [] { return queued > 0; }); // (1)
        if (queued > 0) {
            queued--;
            handled++;
        }
    }
}

int main() {
    {
        std::jthread server(serve);
        {
            std::lock_guard guard(mutex);
            queued += 2;
            changed.notify_one();
        }
        server.request_stop(); // (2)
    }
    std::printf("%s\n", queued + handled == 3 ? "served" : "lost");
}
