// primitive: std::atomic::wait, std::atomic::notify_one
// kind: ok
// about: the stage is stored with release after the data and waited for with acquire.
#include <atomic>
#include <cstdio>
#include <thread>

static std::atomic<int> stage;
static int data, extra;

int main() {
    std::thread worker([] {
        data = 1;
        extra = 2;
        stage.store(1, std::memory_order_release);
        stage.notify_one();
    });
    stage.wait(0, std::memory_order_acquire);
    int sum = data + extra;
    worker.join();
    std::printf("sum %d\n", sum);
}
