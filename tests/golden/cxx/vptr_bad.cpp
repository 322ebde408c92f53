// primitive: vptr update
// kind: race
// lines: 17 24
// about: the base class joins the thread in its destructor, after the vptr has already been changed under a virtual call.
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
                total += step(); // (1)
        });
    }
    void finish() {
        if (thread.joinable())
            thread.join();
    }
    virtual ~Worker() { // (2)
        finish();
        std::printf("%s\n", total >= 0 && total <= 3 ? "done" : "lost");
    }
};

class Counter : public Worker {
    int step() override { return 1; }
};

int main() {
    Counter counter;
    counter.start();
}
