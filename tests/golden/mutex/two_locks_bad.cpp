// primitive: std::scoped_lock, std::lock
// kind: deadlock
// lines: 15 16
// about: two lock_guards in opposite order can wait for each other.
#include <cstdio>
#include <mutex>
#include <thread>

struct Account {
    std::mutex mutex;
    int balance = 50;
};

static void move(Account &from, Account &to, int amount) {
    std::lock_guard first(from.mutex); // (1)
    std::lock_guard second(to.mutex); // (2)
    from.balance -= amount;
    to.balance += amount;
}

int main() {
    Account a, b;
    std::thread there([&] { move(a, b, 10); });
    std::thread back([&] { move(b, a, 20); });
    there.join();
    back.join();
    std::printf("balances %d %d\n", a.balance, b.balance);
}
