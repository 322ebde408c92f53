// primitive: pthread_cond_signal, std::condition_variable::notify_one
// kind: ok
// about: the flag is set under the mutex that the waiter's predicate holds.
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
        changed.wait(lock, [] { return ready; });
        got = 42;
    });
    {
        std::lock_guard guard(mutex);
        ready = true;
    }
    changed.notify_one();
    consumer.join();
    std::printf("got %d\n", got);
}
