// primitive: atomic_compare_exchange_strong, std::atomic::compare_exchange_strong
// kind: atomicity
// lines: 12 13
// about: the leader is elected by a load and a store: there can be two.
#include <atomic>
#include <cstdio>
#include <thread>

static std::atomic<int> leader{0};

static void elect(int me, int &elected) {
    if (leader.load() == 0) { // (1)
        leader.store(me); // (2)
        elected = 1;
    }
}

int main() {
    int a = 0, b = 0;
    std::thread first(elect, 1, std::ref(a)), second(elect, 2, std::ref(b));
    first.join();
    second.join();
    std::printf("leaders %d\n", a + b);
}
