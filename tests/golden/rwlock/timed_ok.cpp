// primitive: pthread_rwlock_timedrdlock, pthread_rwlock_timedwrlock, std::shared_timed_mutex
// kind: ok
// tsan: may report: older libtsan does not know the clock variants behind try_lock_for
// about: try_lock_shared_for that times out reads nothing.
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
        if (attempt.owns_lock())
            seen = price;
    });
    std::thread writer([] {
        std::unique_lock guard(mutex);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        price = 12;
    });
    reader.join();
    writer.join();
    std::printf("%s, then %d\n", seen == 10 || seen == 12 ? "valid" : "invalid", price);
}
