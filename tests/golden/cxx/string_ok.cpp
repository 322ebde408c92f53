// primitive: std::string under a lock
// kind: ok
// about: both threads append to the string under its mutex.
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
            text += c;
        }
    });
    std::size_t early;
    {
        std::lock_guard guard(mutex);
        early = text.size();
    }
    writer.join();
    std::printf("%s, then %s\n", early >= 4 && early <= 7 ? "some" : "nonsense", text.c_str());
}
