// primitive: std::atomic_flag::wait, std::atomic_flag::notify_all
// kind: race
// lines: 13 20
// about: one reader looks at the data before it waits for the flag.
#include <atomic>
#include <cstdio>
#include <thread>

static std::atomic_flag ready;
static int data;

static void look(int &seen) {
    seen = data; // (1)
    ready.wait(false);
}

int main() {
    int a = 0, b = 0;
    std::thread first(look, std::ref(a)), second(look, std::ref(b));
    data = 9; // (2)
    ready.test_and_set();
    ready.notify_all();
    first.join();
    second.join();
    std::printf("seen %d %d\n", a, b);
}
