// primitive: std::stop_token with std::condition_variable_any
// kind: ok
// about: the wait knows the stop token and ends when the thread is asked to stop.
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
        changed.wait(lock, stop, [] { return queued > 0; });
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
    }
    std::printf("%s\n", queued + handled == 3 ? "served" : "lost");
}
