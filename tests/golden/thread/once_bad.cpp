// primitive: pthread_once, std::call_once
// kind: race
// lines: 16 12
// about: a home-made check on a plain variable lets two threads set up at the same time.
#include <cstdio>
#include <mutex>
#include <thread>

static int limit;

static void set_up() {
    limit = 64; // (2)
}

static void use(int &seen) {
    if (limit == 0) // (1)
        set_up();
    seen = limit;
}

int main() {
    int a = 0, b = 0;
    std::thread first(use, std::ref(a)), second(use, std::ref(b));
    first.join();
    second.join();
    std::printf("limits %d %d\n", a, b);
}
