// primitive: getline, std::getline
// kind: race
// lines: 17 21
// about: the line's length is looked at while std::getline fills it.
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
        std::getline(input, line); // (1)
    });
    std::size_t seen;
    {
        seen = line.size(); // (2)
    }
    worker.join();
    std::printf("%s, then %s\n", seen <= 8 ? "valid" : "torn", line.c_str());
}
