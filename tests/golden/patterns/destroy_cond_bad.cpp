// primitive: using a destroyed condition variable
// kind: misuse
// lines: 10 20 33
// about: the event is deleted by whoever waited for it, before the other one has notified.
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

struct Event { // (1)
    std::mutex mutex;
    std::condition_variable ready;
    bool done = false;

    void set() {
        {
            std::lock_guard guard(mutex);
            done = true;
        }
        ready.notify_one(); // (2)
    }

    void wait() {
        std::unique_lock guard(mutex);
        ready.wait(guard, [this] { return done; });
    }
};

int main() {
    auto *event = new Event;
    std::thread worker([event] { event->set(); });
    event->wait();
    delete event; // (3)
    worker.join();
    std::printf("done\n");
}
