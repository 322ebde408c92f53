// primitive: std::call_once with an exception
// kind: race
// lines: 16 23
// tsan: hangs: libtsan's pthread_once never forgets a call that threw
// about: whoever meets the exception writes the fallback itself, next to the set-up of the other thread.
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <thread>

static std::once_flag once;
static int attempts, limit;

static void set_up() {
    if (++attempts == 1) throw std::runtime_error("the first attempt fails");
    limit = 64; // (1)
}

static void use() {
    try {
        std::call_once(once, set_up);
    } catch (const std::runtime_error &) {
        limit = 32; // (2)
    }
}

int main() {
    std::thread first(use), second(use);
    first.join();
    second.join();
    std::printf("limit %d\n", limit);
}
