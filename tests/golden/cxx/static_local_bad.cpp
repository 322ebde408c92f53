// primitive: static-local guard
// kind: race
// lines: 25 25
// about: the object is constructed safely, but its counter is changed without a lock.
#include <atomic>
#include <cstdio>
#include <thread>

struct Settings {
    int size;
    int reads = 0;
    Settings() : size(0) {
        for (int i = 0; i < 4; i++)
            size += 16;
    }
};

static Settings &settings() {
    static Settings only;
    return only;
}

static void use(int &seen) {
    Settings &s = settings();
    s.reads++; // (1) (2)
    seen = s.size;
}

int main() {
    int a = 0, b = 0;
    std::thread first(use, std::ref(a)), second(use, std::ref(b));
    first.join();
    second.join();
    std::printf("sizes %d %d reads %d\n", a, b, static_cast<int>(settings().reads));
}
