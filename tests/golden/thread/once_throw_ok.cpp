// primitive: std::call_once with an exception
// kind: ok
// tsan: hangs: libtsan's pthread_once never forgets a call that threw
// about: a set-up that throws counts as not done; the next caller does it again.
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <thread>

static std::once_flag once;
static int attempts, limit;

static void set_up() {
    if (++attempts == 1) throw std::runtime_error("the first attempt fails");
    limit = 64;
}

static void use() {
    for (int i = 0; i < 2; i++)
        try {
            std::call_once(once, set_up);
        } catch (const std::runtime_error &) {
        }
}

int main() {
    std::thread first(use), second(use);
    first.join();
    second.join();
    std::printf("limit %d\n", limit);
}
