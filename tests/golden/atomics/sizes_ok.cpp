// primitive: atomics of 1, 2, 4 and 8 bytes
// kind: ok
// about: byte, short, pointer and enum are changed by read-modify-writes of their own size.
#include <atomic>
#include <cstdio>
#include <thread>

enum class State : unsigned char { idle, running };
static std::atomic<State> state{State::idle};
static std::atomic<short> starts{0};
static int cells[4];
static std::atomic<int *> next{cells};

static void start() {
    State expected = State::idle;
    if (state.compare_exchange_strong(expected, State::running))
        starts++;
    *next.fetch_add(1) = 1;
}

int main() {
    std::thread first(start), second(start);
    first.join();
    second.join();
    std::printf("started %d, cells %d\n", starts.load(), cells[0] + cells[1]);
}
