// primitive: thread_local destructor
// kind: race
// lines: 16 16
// about: a thread's buffer is emptied into the shared log without its mutex when the thread ends.
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

static std::mutex mutex;
static std::size_t logged;

struct Buffer {
    std::vector<int> lines;
    ~Buffer() {
        logged += lines.size(); // (1) (2)
    }
};

static void say(int line) {
    static thread_local Buffer buffer;
    buffer.lines.push_back(line);
}

int main() {
    auto work = [] {
        for (int i = 0; i < 3; i++)
            say(i);
    };
    std::thread first(work), second(work);
    first.join();
    second.join();
    std::lock_guard guard(mutex);
    std::printf("logged %zu\n", logged);
}
