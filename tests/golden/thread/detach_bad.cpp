// primitive: pthread_detach, std::thread::detach
// kind: race
// lines: 13 15
// about: the detached thread writes a static variable and nobody waits for it.
#include <chrono>
#include <cstdio>
#include <future>
#include <thread>

static int answer;

int main() {
    std::thread([] { answer = 6 * 7; }).detach(); // (1)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::printf("answer %d\n", answer); // (2)
}
