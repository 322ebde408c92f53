// primitive: pthread_cond_broadcast, std::condition_variable::notify_all
// kind: ok
// about: the gate opens for everybody by notify_all.
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

struct Gate {
    std::mutex mutex;
    std::condition_variable opened;
    bool open = false;
    int passed = 0;

    void pass() {
        std::unique_lock lock(mutex);
        opened.wait(lock, [this] { return open; });
        passed++;
    }
    void release() {
        std::lock_guard guard(mutex);
        open = true;
        opened.notify_all();
    }
};

int main() {
    static Gate gate;
    std::thread first(&Gate::pass, &gate), second(&Gate::pass, &gate);
    gate.release();
    first.join();
    second.join();
    std::printf("passed %d\n", gate.passed);
}
