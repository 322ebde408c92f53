// primitive: atomics of 1, 2, 4 and 8 bytes
// kind: atomicity
// lines: 16 17
// about: the state goes from idle to running by a load and a store: both threads may start it.
#include <atomic>
#include <cstdio>
#include <thread>

enum class State : unsigned char { idle, running };
static std::atomic<State> state{State::idle};
static std::atomic<short> starts{0};
static int cells[4];
static std::atomic<int *> next{cells};

static void start() {
    if (state.load() == State::idle) { // (1)
        state.store(State::running); // (2)
        starts++;
    }
    *next.fetch_add(1) = 1;
}

int main() {
    std::thread first(start), second(start);
    first.join();
    second.join();
    std::printf("started %d, cells %d\n", starts.load(), cells[0] + cells[1]);
}
