// primitive: std::scoped_lock, std::lock
// kind: ok
// about: std::scoped_lock takes both mutexes without a deadlock, whatever the order of its arguments.
#include <cstdio>
#include <mutex>
#include <thread>

struct Account {
    std::mutex mutex;
    int balance = 50;
};

static void move(Account &from, Account &to, int amount) {
    std::scoped_lock both(from.mutex, to.mutex);
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
