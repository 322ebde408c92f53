// primitive: std::condition_variable, in a pool of threads
// kind: ok
// about: the flag is set under the lock, so that nobody is between looking at it and waiting.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

namespace {

class Pool {
public:
    explicit Pool(int size) {
        for (int i = 0; i < size; i++)
            workers_.emplace_back([this] { work(); });
    }

    ~Pool() {
        {
            std::lock_guard<std::mutex> guard(lock_);
            stop_ = true;
        }
        changed_.notify_all();
        for (auto &worker : workers_)
            worker.join();
    }

    void add(std::function<void()> task) {
        {
            std::lock_guard<std::mutex> guard(lock_);
            tasks_.push(std::move(task));
        }
        changed_.notify_one();
    }

private:
    void work() {
        for (;;) {
            std::function<void()> task;
            {
                std::unique_lock<std::mutex> guard(lock_);
                while (!stop_ && tasks_.empty())
                    changed_.wait(guard); // (1)
                if (tasks_.empty())
                    return;
                task = std::move(tasks_.front());
                tasks_.pop();
            }
            task();
        }
    }

    std::mutex lock_;
    std::condition_variable changed_;
    std::queue<std::function<void()>> tasks_;
    std::atomic<bool> stop_{false};
    std::vector<std::thread> workers_;
};

std::atomic<int> sum{0};

} // namespace

int main() {
    {
        auto pool = std::make_unique<Pool>(2);
        for (int i = 0; i < 4; i++)
            pool->add([i] { sum += i; });
    }
    std::printf("%d\n", sum.load());
    return 0;
}
