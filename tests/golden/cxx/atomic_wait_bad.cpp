// primitive: std::atomic::wait, std::atomic::notify_one
// kind: race
// lines: 17 20
// about: the second datum is written after the stage is announced.
#include <atomic>
#include <cstdio>
#include <thread>

static std::atomic<int> stage;
static int data, extra;

int main() {
    std::thread worker([] {
        data = 1;
        stage.store(1, std::memory_order_release);
        stage.notify_one();
        extra = 2; // (1)
    });
    stage.wait(0, std::memory_order_acquire);
    int sum = data + extra; // (2)
    worker.join();
    std::printf("sum %d\n", sum);
}
