// primitive: pthread_create, std::thread
// kind: ok
// about: the lambda takes a copy of the loop counter.
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

int main() {
    std::atomic<int> sum{0};
    std::vector<std::thread> team;
    int i;
    for (i = 0; i < 3; i++)
        team.emplace_back([i, &sum] {
            int number = i;
            sum += number * number;
        });
    for (auto &t : team)
        t.join();
    std::printf("sum %d\n", sum.load());
}
