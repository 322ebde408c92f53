// primitive: std::condition_variable_any
// kind: race
// lines: 18 28
// about: the writer changes the state under a shared lock, next to the readers' predicate.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>

static std::shared_mutex mutex;
static std::condition_variable_any changed;
static int version;

static void follow(int &seen) {
    std::shared_lock lock(mutex);
    while (version == 0) // (1)
        changed.wait_for(lock, std::chrono::milliseconds(20));
    seen = version;
}

int main() {
    int a = 0, b = 0;
    std::thread first(follow, std::ref(a)), second(follow, std::ref(b));
    {
        std::shared_lock lock(mutex);
        version = 3; // (2)
    }
    changed.notify_all();
    first.join();
    second.join();
    std::printf("versions %d %d\n", a, b);
}
