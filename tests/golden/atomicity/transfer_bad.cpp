// primitive: reweave::atomic_block
// kind: atomicity
// lines: 16 20 26 27
// about: A transfer locks each account by itself, so that an audit can run when the money is in neither.
#include <cstdio>
#include <mutex>
#include <reweave.h>
#include <thread>

static std::mutex first_lock, second_lock;
static int first = 100, second;

static void transfer() {
    reweave::atomic_block block("transfer");
    first_lock.lock();
    first -= 10; // (1)
    first_lock.unlock();
    {
        std::lock_guard<std::mutex> hold(second_lock);
        second += 10; // (2)
    }
}

static int audit() {
    std::scoped_lock hold(first_lock, second_lock);
    int sum = first; // (3)
    sum += second;   // (4)
    return sum;
}

int main() {
    int sum = 0;
    std::thread one(transfer), two([&sum] { sum = audit(); });
    one.join();
    two.join();
    std::printf("%s\n", sum > 0 ? "audited" : "nothing");
}
