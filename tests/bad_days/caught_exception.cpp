// about: exceptions thrown deep inside thread functions are caught at their top, over and over.
// exit: 0
#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

static std::atomic<int> caught;

static void descend(int depth) {
    std::string label = "level " + std::to_string(depth);
    if (depth == 0)
        throw std::runtime_error(label);
    descend(depth - 1);
}

static void work() {
    for (int i = 0; i < 5; i++)
        try {
            descend(20);
        } catch (const std::exception &) {
            caught++;
        }
}

int main() {
    std::thread first(work), second(work);
    first.join();
    second.join();
    std::printf("caught %d\n", caught.load());
}
