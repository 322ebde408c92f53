// primitive: pthread_rwlock_timedrdlock, pthread_rwlock_timedwrlock, std::shared_timed_mutex
// kind: race
// lines: 19 24
// tsan: misses it unless the timeout is reached in that run
// about: try_lock_shared_for that times out reads anyway.
#include <chrono>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>

static std::shared_timed_mutex mutex;
static int price = 10;

int main() {
    int seen = 10;
    std::thread reader([&] {
        std::shared_lock attempt(mutex, std::chrono::milliseconds(500));
        seen = price; // (1)
    });
    std::thread writer([] {
        std::unique_lock guard(mutex);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        price = 12; // (2)
    });
    reader.join();
    writer.join();
    std::printf("%s, then %d\n", seen == 10 || seen == 12 ? "valid" : "invalid", price);
}
