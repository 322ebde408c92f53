// primitive: new[], delete[], std::unique_ptr
// kind: ok
// about: the array is given up after the join.
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

int main() {
    auto table = std::make_unique<int[]>(16);
    for (int i = 0; i < 16; i++)
        table[i] = i;
    const int *view = table.get();
    int seen = 0;
    std::thread reader([&] { seen = view[9]; });
    reader.join();
    table = std::make_unique<int[]>(32);
    std::printf("seen %d\n", seen);
}
