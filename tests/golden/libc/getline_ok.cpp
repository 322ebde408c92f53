// primitive: getline, std::getline
// kind: ok
// about: the line that std::getline fills is looked at under a mutex.
#include <cstdio>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>

int main() {
    std::mutex mutex;
    std::istringstream input("one line\nanother\n");
    std::string line;
    std::thread worker([&] {
        std::lock_guard guard(mutex);
        std::getline(input, line);
    });
    std::size_t seen;
    {
        std::lock_guard guard(mutex);
        seen = line.size();
    }
    worker.join();
    std::printf("%s, then %s\n", seen <= 8 ? "valid" : "torn", line.c_str());
}
