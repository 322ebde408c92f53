// primitive: pthread_mutex_trylock, std::mutex::try_lock
// kind: race
// lines: 15 22
// tsan: misses it unless the try fails in that run
// about: a unique_lock made with try_to_lock is not asked whether it owns the mutex.
#include <cstdio>
#include <mutex>
#include <thread>

static std::mutex mutex;
static int cache, misses;

static void refresh() {
    std::unique_lock attempt(mutex, std::try_to_lock);
    cache = 5; // (1)
}

int main() {
    std::thread helper(refresh);
    {
        std::lock_guard guard(mutex);
        if (cache == 0) // (2)
            misses = 1;
    }
    helper.join();
    std::printf("%s\n", misses <= 1 ? "served" : "lost");
}
