// primitive: pthread_rwlock_tryrdlock, pthread_rwlock_trywrlock, std::shared_mutex::try_lock_shared
// kind: race
// lines: 18 22
// tsan: misses it unless the try fails in that run
// about: a shared_lock made with try_to_lock is not asked whether it owns the mutex.
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>

static std::shared_mutex mutex;
static int price = 10;

int main() {
    int seen = 10;
    std::thread reader([&] {
        std::shared_lock attempt(mutex, std::try_to_lock);
        seen = price; // (1)
    });
    std::thread writer([] {
        std::unique_lock guard(mutex);
        price = 12; // (2)
    });
    reader.join();
    writer.join();
    std::printf("%s, then %d\n", seen == 10 || seen == 12 ? "valid" : "invalid", price);
}
