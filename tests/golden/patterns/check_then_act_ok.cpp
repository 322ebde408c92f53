// primitive: check-then-act
// kind: ok
// about: looking up and inserting are one critical section.
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>

class Cache {
    std::mutex mutex;
    std::map<int, int> entries;

  public:
    int made = 0;
    void ensure(int key) {
        std::lock_guard guard(mutex);
        if (entries.emplace(key, key * key).second)
            made++;
    }
};

int main() {
    Cache cache;
    std::thread first([&] { cache.ensure(3); }), second([&] { cache.ensure(3); });
    first.join();
    second.join();
    std::printf("made %d\n", cache.made);
}
