// primitive: check-then-act
// kind: atomicity
// lines: 18 22
// about: two calls, each safe by itself: both threads can find the key missing and make the value.
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>

class Cache {
    std::mutex mutex;
    std::map<int, int> entries;

  public:
    int made = 0;
    bool has(int key) {
        std::lock_guard guard(mutex);
        return entries.count(key) != 0; // (1)
    }
    void make(int key) {
        std::lock_guard guard(mutex);
        entries[key] = key * key; // (2)
        made++;
    }
    void ensure(int key) {
        if (!has(key))
            make(key);
    }
};

int main() {
    Cache cache;
    std::thread first([&] { cache.ensure(3); }), second([&] { cache.ensure(3); });
    first.join();
    second.join();
    std::printf("made %d\n", cache.made);
}
