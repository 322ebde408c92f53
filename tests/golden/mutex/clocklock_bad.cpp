// primitive: pthread_mutex_clocklock, std::timed_mutex::try_lock_until
// kind: race
// lines: 17 17
// tsan: may report: older libtsan does not know this call
// about: try_lock_until on the steady clock that times out writes anyway.
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

static std::timed_mutex mutex;
static int stock = 3;

static void take() {
    auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    std::unique_lock attempt(mutex, deadline);
    stock--; // (1) (2)
}

int main() {
    std::thread first(take), second(take);
    first.join();
    second.join();
    std::printf("%s\n", stock >= 1 && stock <= 3 ? "some left" : "impossible");
}
