// primitive: using a destroyed mutex, std::mutex in freed memory
// kind: misuse
// lines: 17 18 22
// about: the account goes with its mutex while another thread may still be waiting for it.
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>

struct Account {
    std::mutex mutex;
};

int main() {
    auto account = std::make_unique<Account>();
    std::thread worker([known = account.get()] {
        known->mutex.lock(); // (1)
        known->mutex.unlock(); // (2)
    });
    account->mutex.lock();
    account->mutex.unlock();
    account.reset(); // (3)
    worker.join();
    std::printf("closed\n");
}
