// primitive: std::lock
// kind: ok
// about: each takes what it can and gives it back if it cannot have both: two that do it in step go round for a while, and nobody is stuck.
#include <cstdio>
#include <mutex>
#include <thread>

namespace {

std::mutex left, right;
int shared;

void use(std::mutex &one, std::mutex &other) {
    for (int i = 0; i < 3; i++) {
        std::unique_lock<std::mutex> first(one, std::defer_lock), second(other, std::defer_lock);
        std::lock(first, second);
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
