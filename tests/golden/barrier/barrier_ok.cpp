// primitive: pthread_barrier_wait, std::barrier
// kind: ok
// about: std::barrier separates writing from reading and runs its completion step in between.
#include <barrier>
#include <cstdio>
#include <thread>

int main() {
    int cell[2] = {}, seen[2] = {}, phases = 0;
    std::barrier sync(2, [&phases]() noexcept { phases++; });
    auto work = [&](int me) {
        cell[me] = me + 1;
        sync.arrive_and_wait();
        seen[me] = cell[1 - me];
        sync.arrive_and_wait();
    };
    std::thread first(work, 0), second(work, 1);
    first.join();
    second.join();
    std::printf("seen %d phases %d\n", seen[0] + seen[1], phases);
}
