// primitive: producer/consumer queue
// kind: race
// lines: 23 37 41
// about: the queue is asked whether it is empty without its mutex.
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

class Queue {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<int> items;
    int waiting = 0;
    bool closed = false;

  public:
    void put(int item) {
        std::lock_guard guard(mutex);
        items.push_back(item);
        waiting++; // (1)
        changed.notify_one();
    }
    void close() {
        std::lock_guard guard(mutex);
        closed = true;
        changed.notify_all();
    }
    std::optional<int> take() {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return closed || !items.empty(); });
        if (items.empty()) return std::nullopt;
        int item = items.front();
        items.pop_front();
        waiting--;
        return item;
    }
    int size() {
        return waiting; // (2)
    }
};

int main() {
    Queue queue;
    int sum = 0;
    std::thread consumer([&] {
        while (auto item = queue.take())
            sum += *item;
    });
    for (int i = 1; i <= 3; i++)
        queue.put(i);
    int backlog = queue.size();
    queue.close();
    consumer.join();
    std::printf("sum %d, %s\n", sum, backlog <= 3 ? "some waiting" : "nonsense");
}
