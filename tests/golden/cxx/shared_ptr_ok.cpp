// primitive: std::shared_ptr reference count
// kind: ok
// about: each thread has its own shared_ptr; the last one to go destroys the object and reads what all wrote.
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
    std::thread first([mine = cells]() mutable {
        mine->a = 1;
        mine.reset();
    });
    std::thread second([mine = cells]() mutable {
        mine->b = 2;
        mine.reset();
    });
    cells.reset();
    first.join();
    second.join();
    std::printf("sum %d\n", sum);
}
