// primitive: pthread_key_create, thread_local
// kind: ok
// about: the destructor of a thread_local adds its count to the total under a lock.
#include <cstdio>
#include <mutex>
#include <thread>

static std::mutex lock;
static int total;

struct Counter {
    int mine = 0;
    ~Counter() {
        std::lock_guard guard(lock);
        total += mine;
    }
};

static thread_local Counter counter;

static void work() {
    for (int i = 0; i < 4; i++)
        counter.mine++;
}

int main() {
    std::thread first(work), second(work);
    first.join();
    second.join();
    std::lock_guard guard(lock);
    std::printf("total %d\n", total);
}
