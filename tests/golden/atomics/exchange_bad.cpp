// primitive: atomic_exchange, std::atomic::exchange
// kind: atomicity
// lines: 12 13
// about: a load and a store decide who closes the door: both may think it was them.
#include <atomic>
#include <cstdio>
#include <thread>

static std::atomic<bool> open{true};

static void shut(int &closed) {
    if (open.load()) { // (1)
        open.store(false); // (2)
        closed++;
    }
}

int main() {
    int a = 0, b = 0;
    std::thread first(shut, std::ref(a)), second(shut, std::ref(b));
    first.join();
    second.join();
    std::printf("closed %d time\n", a + b);
}
