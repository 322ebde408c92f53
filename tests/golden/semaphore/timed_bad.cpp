// primitive: sem_timedwait, std::counting_semaphore::try_acquire_for
// kind: race
// lines: 17 21
// tsan: misses it unless the timeout is reached in that run
// about: a timed-out acquire reads the message all the same.
#include <chrono>
#include <cstdio>
#include <semaphore>
#include <thread>

static std::counting_semaphore<4> arrived(0);
static int message = 1;

int main() {
    int seen = 1;
    std::thread sender([] {
        message = 2; // (1)
        arrived.release();
    });
    if (!arrived.try_acquire_for(std::chrono::milliseconds(500)))
        seen = message; // (2)
    sender.join();
    std::printf("%s\n", seen == 1 || seen == 2 ? "valid" : "invalid");
}
