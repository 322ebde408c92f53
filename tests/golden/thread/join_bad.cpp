// primitive: pthread_join, std::thread::join
// kind: race
// lines: 22 24
// about: the longest word is read after the join of one of two threads.
#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

static std::size_t longest(const std::vector<std::string> &words) {
    std::size_t most = 0;
    for (const auto &word : words)
        most = std::max(most, word.size());
    return most;
}

int main() {
    static const std::vector<std::string> left{"thread", "of", "control"}, right{"join", "detached"};
    std::size_t a = 0, b = 0;
    std::thread first([&] { a = longest(left); });
    std::thread second([&] { b = longest(right); }); // (1)
    first.join();
    std::size_t most = std::max(a, b); // (2)
    second.join();
    std::printf("longest %zu\n", most);
}
