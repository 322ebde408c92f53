// primitive: pthread_create, std::thread
// kind: race
// lines: 15 13
// about: the lambda takes a reference to the loop counter, which the main thread goes on changing.
#include <cstdio>
#include <thread>
#include <vector>

int main() {
    constexpr int workers = 3;
    int squares[workers + 1] = {};
    std::vector<std::thread> team;
    for (int i = 0; i < workers; i++) // (2)
        team.emplace_back([&i, &squares] {
            int number = i; // (1)
            squares[number] = number * number;
        });
    for (auto &t : team)
        t.join();
    int sum = 0;
    for (int t = 0; t < workers; t++)
        sum += squares[t];
    std::printf("sum %d\n", sum);
}
