// primitive: using a destroyed mutex, std::mutex in freed memory
// kind: ok
// about: the account goes when nobody knows it any more; the next one may lie where it lay.
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>

struct Account {
    std::mutex mutex;
    int balance = 0;
};

static void pay(Account &account) {
    std::lock_guard guard(account.mutex);
    account.balance++;
}

int main() {
    int paid = 0;
    for (int round = 0; round < 2; round++) {
        auto account = std::make_unique<Account>();
        std::thread worker([known = account.get()] { pay(*known); });
        pay(*account);
        worker.join();
        paid += account->balance;
        account.reset();
    }
    std::printf("paid %d\n", paid);
}
