// primitive: std::string under a lock
// kind: race
// lines: 16 21
// about: the reader looks at the string's size without the mutex.
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

int main() {
    std::mutex mutex;
    std::string text = "log:";
    std::thread writer([&] {
        for (char c : {'a', 'b', 'c'}) {
            std::lock_guard guard(mutex);
            text += c; // (1)
        }
    });
    std::size_t early;
    {
        early = text.size(); // (2)
    }
    writer.join();
    std::printf("%s, then %s\n", early >= 4 && early <= 7 ? "some" : "nonsense", text.c_str());
}
