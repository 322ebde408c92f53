// primitive: reweave::atomic_block
// kind: ok
// about: A transfer holds both accounts: whoever audits them sees all of it or nothing.
#include <cstdio>
#include <mutex>
#include <reweave.h>
#include <thread>

static std::mutex first_lock, second_lock;
static int first = 100, second;

static void transfer() {
    reweave::atomic_block block("transfer");
    std::scoped_lock hold(first_lock, second_lock);
    first -= 10;
    second += 10;
}

static int audit() {
    std::scoped_lock hold(first_lock, second_lock);
    return first + second;
}

int main() {
    int sum = 0;
    std::thread one(transfer), two([&sum] { sum = audit(); });
    one.join();
    two.join();
    std::printf("%s\n", sum == 100 ? "audited" : "nothing");
}
