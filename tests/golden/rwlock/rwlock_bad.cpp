// primitive: pthread_rwlock_rdlock, pthread_rwlock_wrlock, std::shared_mutex
// kind: race
// lines: 15 20
// about: the update takes a shared_lock.
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>

static std::shared_mutex mutex;
static int route = 1;

static int look_up() {
    std::shared_lock guard(mutex);
    return route; // (1)
}

static void update(int value) {
    std::shared_lock guard(mutex);
    route = value; // (2)
}

int main() {
    int a = 0, b = 0;
    std::thread first([&] { a = look_up(); });
    std::thread second([&] { b = look_up(); });
    std::thread writer([] { update(2); });
    first.join();
    second.join();
    writer.join();
    std::printf("%s, then %d\n", a >= 1 && b >= 1 ? "valid" : "invalid", look_up());
}
