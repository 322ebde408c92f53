// primitive: pthread_mutex_timedlock, std::timed_mutex
// kind: ok
// tsan: may report: older libtsan does not know pthread_mutex_clocklock behind try_lock_for
// about: try_lock_for that times out gives up.
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

static std::timed_mutex mutex;
static int stock = 3;

static void take() {
    std::unique_lock attempt(mutex, std::chrono::milliseconds(500));
    if (attempt.owns_lock())
        stock--;
}

int main() {
    std::thread first(take), second(take);
    first.join();
    second.join();
    std::printf("%s\n", stock >= 1 && stock <= 3 ? "some left" : "impossible");
}
