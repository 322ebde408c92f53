// primitive: pthread_create, std::thread
// kind: race
// lines: 16 14
// about: the lambda takes a reference to the loop counter, which the main thread goes on changing.
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

int main() {
    std::atomic<int> sum{0};
    std::vector<std::thread> team;
    int i;
    for (i = 0; i < 3; i++) // (2)
        team.emplace_back([&i, &sum] {
            int number = i; // (1)
            sum += number * number;
        });
    for (auto &t : team)
        t.join();
    std::printf("sum %d\n", sum.load());
}
