// primitive: pthread_create, std::thread
// kind: ok
// about: the lambda takes a copy of the loop counter.
#include <cstdio>
#include <thread>
#include <vector>

int main() {
    constexpr int workers = 3;
    int squares[workers + 1] = {};
    std::vector<std::thread> team;
    for (int i = 0; i < workers; i++)
        team.emplace_back([i, &squares] {
            int number = i;
            squares[number] = number * number;
        });
    for (auto &t : team)
        t.join();
    int sum = 0;
    for (int t = 0; t < workers; t++)
        sum += squares[t];
    std::printf("sum %d\n", sum);
}
