// primitive: atomic_exchange, std::atomic::exchange
// kind: ok
// about: the exchange decides who closes the door.
#include <atomic>
#include <cstdio>
#include <thread>

static std::atomic<bool> open{true};

static void shut(int &closed) {
    if (open.exchange(false))
        closed++;
}

int main() {
    int a = 0, b = 0;
    std::thread first(shut, std::ref(a)), second(shut, std::ref(b));
    first.join();
    second.join();
    std::printf("closed %d time\n", a + b);
}
