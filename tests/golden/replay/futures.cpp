// primitive: replay of futures
// kind: nondeterminism
// lines: 22 23
// exit: 0
// about: tasks race for a ticket each, and the futures are collected in order; the tickets depend on the schedule.
#include <atomic>
#include <cstdio>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

int main() {
    std::atomic<int> next{0};
    std::mutex mutex;
    std::string log;
    std::promise<void> start;
    std::shared_future<void> started = start.get_future().share();
    auto task = [&](char name) {
        started.wait();
        int ticket = next.fetch_add(1);
        std::lock_guard guard(mutex);
        log += name;
        return ticket;
    };
    std::vector<std::future<int>> tickets;
    for (char name : {'a', 'b', 'c'})
        tickets.push_back(std::async(std::launch::async, task, name));
    std::packaged_task<int(char)> last(task);
    tickets.push_back(last.get_future());
    std::thread runner(std::move(last), 'd');
    start.set_value();
    for (auto &ticket : tickets)
        std::printf("%d ", ticket.get());
    runner.join();
    std::printf("%s\n", log.c_str());
}
