// primitive: std::condition_variable_any
// kind: ok
// about: readers wait with a shared lock; the writer changes the state under the exclusive one.
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
    changed.wait(lock, [] { return version > 0; });
    seen = version;
}

int main() {
    int a = 0, b = 0;
    std::thread first(follow, std::ref(a)), second(follow, std::ref(b));
    {
        std::unique_lock lock(mutex);
        version = 3;
    }
    changed.notify_all();
    first.join();
    second.join();
    std::printf("versions %d %d\n", a, b);
}
