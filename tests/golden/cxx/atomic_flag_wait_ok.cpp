// primitive: std::atomic_flag::wait, std::atomic_flag::notify_all
// kind: ok
// about: both readers wait for the flag.
#include <atomic>
#include <cstdio>
#include <thread>

static std::atomic_flag ready;
static int data;

static void look(int &seen) {
    ready.wait(false);
    seen = data;
}

int main() {
    int a = 0, b = 0;
    std::thread first(look, std::ref(a)), second(look, std::ref(b));
    data = 9;
    ready.test_and_set();
    ready.notify_all();
    first.join();
    second.join();
    std::printf("seen %d %d\n", a, b);
}
