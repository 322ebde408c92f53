// primitive: PTHREAD_MUTEX_RECURSIVE, std::recursive_mutex
// kind: race
// lines: 22 22
// about: transfer lets go of the mutex before it books the fee.
#include <cstdio>
#include <mutex>
#include <thread>

struct Account {
    std::recursive_mutex mutex;
    int balance = 100, fees = 0;

    void deposit(int amount) {
        std::lock_guard guard(mutex);
        balance += amount;
    }
    void transfer(int amount) {
        {
            std::lock_guard guard(mutex);
            deposit(-amount);
        }
        fees += 1; // (1) (2)
    }
};

int main() {
    Account account;
    std::thread first([&] { account.transfer(10); });
    std::thread second([&] { account.transfer(20); });
    first.join();
    second.join();
    std::printf("balance %d fees %d\n", account.balance, account.fees);
}
