// primitive: std::shared_ptr reference count
// kind: race
// lines: 20 25
// about: both threads use one and the same shared_ptr, one of them resetting it.
#include <cstdio>
#include <memory>
#include <thread>

struct Cells {
    int a = 0, b = 0;
    int *sum;
    explicit Cells(int *where) : sum(where) {}
    ~Cells() { *sum = a + b; }
};

int main() {
    int sum = 0;
    auto cells = std::make_shared<Cells>(&sum);
    std::thread first([&cells] {
        auto mine = cells; // (1)
        if (mine)
            mine->a = 3;
    });
    std::thread second([&cells] {
        cells.reset(); // (2)
    });
    first.join();
    second.join();
    std::printf("sum %d\n", sum);
}
