// primitive: pthread_cond_signal, std::condition_variable::notify_one
// kind: race
// lines: 19 24
// about: the flag is set without the mutex, so the predicate can read it at the same moment.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

static std::mutex mutex;
static std::condition_variable changed;
static bool ready;

int main() {
    int got = 0;
    std::thread consumer([&] {
        std::unique_lock lock(mutex);
        while (!ready) // (1)
            changed.wait_for(lock, std::chrono::milliseconds(50));
        got = 42;
    });
    {
        ready = true; // (2)
    }
    changed.notify_one();
    consumer.join();
    std::printf("got %d\n", got);
}
