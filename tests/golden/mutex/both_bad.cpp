// primitive: std::lock
// kind: deadlock
// lines: 17 19
// exit: 0 hang
// about: taken one after the other, in two orders.
#include <cstdio>
#include <mutex>
#include <thread>

namespace {

std::mutex left, right;
int shared;

void use(std::mutex &one, std::mutex &other) {
    for (int i = 0; i < 3; i++) {
        std::unique_lock<std::mutex> first(one);
        // (1)
        std::unique_lock<std::mutex> second(other);
        shared++;
    }
}

} // namespace

int main() {
    std::thread worker([] { use(left, right); });
    use(right, left);
    worker.join();
    std::printf("%d\n", shared);
    return 0;
}
