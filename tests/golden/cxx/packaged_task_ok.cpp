// primitive: std::packaged_task, std::shared_future
// kind: ok
// about: two readers share the future and read what the task wrote.
#include <cstdio>
#include <future>
#include <thread>

int main() {
    int table[3] = {};
    std::packaged_task<int(int)> fill([&](int step) {
        for (int i = 0; i < 3; i++)
            table[i] = i * step;
        return step;
    });
    std::shared_future<int> filled = fill.get_future().share();
    int a = 0, b = 0;
    std::thread first([&a, &table, filled] {
        filled.wait();
        a = table[2];
    });
    std::thread second([&b, &table, filled] {
        filled.wait();
        b = table[1];
    });
    std::thread worker(std::move(fill), 5);
    worker.join();
    first.join();
    second.join();
    std::printf("table %d %d step %d\n", a, b, filled.get());
}
