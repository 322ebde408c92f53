// primitive: reweave::atomic_block
// kind: ok
// about: Name and number belong together and are published under both locks.
#include <cstdio>
#include <mutex>
#include <reweave.h>
#include <thread>

static std::mutex name_lock, number_lock;
static int name, number;

static void publish() {
    reweave::atomic_block block("publish");
    std::scoped_lock hold(name_lock, number_lock);
    name = 1;
    number = 1;
}

static void replace() {
    std::scoped_lock hold(name_lock, number_lock);
    name = 2;
    number = 2;
}

int main() {
    std::thread other(replace);
    publish();
    other.join();
    std::printf("%s\n", name == number ? "published" : "torn");
}
