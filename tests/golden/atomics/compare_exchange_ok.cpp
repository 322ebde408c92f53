// primitive: atomic_compare_exchange_strong, std::atomic::compare_exchange_strong
// kind: ok
// about: the leader is elected by one compare_exchange_strong.
#include <atomic>
#include <cstdio>
#include <thread>

static std::atomic<int> leader{0};

static void elect(int me, int &elected) {
    int nobody = 0;
    elected = leader.compare_exchange_strong(nobody, me, std::memory_order_acq_rel, std::memory_order_acquire);
}

int main() {
    int a = 0, b = 0;
    std::thread first(elect, 1, std::ref(a)), second(elect, 2, std::ref(b));
    first.join();
    second.join();
    std::printf("leaders %d\n", a + b);
}
