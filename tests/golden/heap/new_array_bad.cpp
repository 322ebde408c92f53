// primitive: new[], delete[], std::unique_ptr
// kind: race
// lines: 16 18
// about: the array is replaced, and so deleted, while the thread may still read it.
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
    std::thread reader([&] { seen = view[9]; }); // (1)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    table = std::make_unique<int[]>(32); // (2)
    reader.join();
    std::printf("seen %d\n", seen);
}
