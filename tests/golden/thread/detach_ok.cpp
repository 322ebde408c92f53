// primitive: pthread_detach, std::thread::detach
// kind: ok
// about: the detached thread hands its result over through a promise.
#include <chrono>
#include <cstdio>
#include <future>
#include <thread>

int main() {
    std::promise<int> result;
    std::future<int> answer = result.get_future();
    std::thread([result = std::move(result)]() mutable { result.set_value(6 * 7); }).detach();
    std::printf("answer %d\n", answer.get());
}
