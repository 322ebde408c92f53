// primitive: pthread_mutex_lock, std::mutex
// kind: ok
// about: every access of the log holds its mutex.
#include <cstdio>
#include <mutex>
#include <thread>

class Log {
    mutable std::mutex mutex;
    int lines[8] = {};
    int used = 0;

  public:
    void append(int line) {
        std::lock_guard guard(mutex);
        lines[used] = line;
        used++;
    }
    int size() const {
        std::lock_guard guard(mutex);
        return used;
    }
};

int main() {
    Log log;
    std::thread writer([&] {
        for (int i = 0; i < 4; i++)
            log.append(i);
    });
    int early = log.size();
    writer.join();
    std::printf("%s, then %d\n", early <= 4 ? "some" : "too many", log.size());
}
