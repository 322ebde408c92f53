// primitive: pthread_once, std::call_once
// kind: ok
// about: std::call_once runs the set-up once and publishes it.
#include <cstdio>
#include <mutex>
#include <thread>

static std::once_flag once;
static int limit;

static void set_up() {
    limit = 64;
}

static void use(int &seen) {
    std::call_once(once, set_up);
    seen = limit;
}

int main() {
    int a = 0, b = 0;
    std::thread first(use, std::ref(a)), second(use, std::ref(b));
    first.join();
    second.join();
    std::printf("limits %d %d\n", a, b);
}
