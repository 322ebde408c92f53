// primitive: reweave::atomic_block
// kind: atomicity
// lines: 16 20 26 27
// about: Name and number belong together but are published under a lock each, so that they can end up from different threads.
#include <cstdio>
#include <mutex>
#include <reweave.h>
#include <thread>

static std::mutex name_lock, number_lock;
static int name, number;

static void publish() {
    reweave::atomic_block block("publish");
    name_lock.lock();
    name = 1; // (1)
    name_lock.unlock();
    {
        std::lock_guard<std::mutex> hold(number_lock);
        number = 1; // (2)
    }
}

static void replace() {
    std::scoped_lock hold(name_lock, number_lock);
    name = 2;   // (3)
    number = 2; // (4)
}

int main() {
    std::thread other(replace);
    publish();
    other.join();
    std::printf("%s\n", name > 0 && number > 0 ? "published" : "nothing");
}
