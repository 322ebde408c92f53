// primitive: vptr update
// kind: ok
// about: the thread is joined before the object's destructors change its vptr.
#include <cstdio>
#include <thread>

class Worker {
    std::thread thread;

  public:
    int total = 0;
    virtual int step() { return 0; }
    void start() {
        thread = std::thread([this] {
            for (int i = 0; i < 3; i++)
                total += step();
        });
    }
    void finish() {
        if (thread.joinable())
            thread.join();
    }
    virtual ~Worker() { std::printf("%s\n", total == 3 ? "done" : "lost"); }
};

class Counter : public Worker {
    int step() override { return 1; }

  public:
    ~Counter() override { finish(); }
};

int main() {
    Counter counter;
    counter.start();
}
