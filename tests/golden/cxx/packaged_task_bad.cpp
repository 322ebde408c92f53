// primitive: std::packaged_task, std::shared_future
// kind: race
// lines: 13 23
// about: one reader does not wait for the shared future.
#include <cstdio>
#include <future>
#include <thread>

int main() {
    int table[3] = {};
    std::packaged_task<int(int)> fill([&](int step) {
        for (int i = 0; i < 3; i++)
            table[i] = i * step; // (1)
        return step;
    });
    std::shared_future<int> filled = fill.get_future().share();
    int a = 0, b = 0;
    std::thread first([&a, &table, filled] {
        filled.wait();
        a = table[2];
    });
    std::thread second([&b, &table, filled] {
        b = table[1]; // (2)
    });
    std::thread worker(std::move(fill), 5);
    worker.join();
    first.join();
    second.join();
    std::printf("table %d %d step %d\n", a, b, filled.get());
}
