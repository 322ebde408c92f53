// primitive: pthread_key_create, thread_local
// kind: race
// lines: 15 15
// about: the destructors of two threads' thread_locals add to the total without a lock.
#include <cstdio>
#include <mutex>
#include <thread>

static std::mutex lock;
static int total;

struct Counter {
    int mine = 0;
    ~Counter() {
        total += mine; // (1) (2)
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
