// primitive: using a destroyed condition variable
// kind: ok
// about: whoever notifies does so under the mutex; events come and go at the same place of a frame and of the heap.
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

struct Event {
    std::mutex mutex;
    std::condition_variable ready;
    bool done = false;

    void set() {
        std::lock_guard guard(mutex);
        done = true;
        ready.notify_one();
    }

    void wait() {
        std::unique_lock guard(mutex);
        ready.wait(guard, [this] { return done; });
    }
};

int main() {
    for (int round = 0; round < 2; round++) {
        Event event;
        std::thread worker([&event] { event.set(); });
        event.wait();
        worker.join();
    }
    auto *event = new Event;
    std::thread worker([event] { event->set(); });
    event->wait();
    delete event;
    worker.join();
    std::printf("done\n");
}
