// about: library of plugin.c that brings the C++ library with it into a C program, and has it balance a std::map.
// flags: -shared -fPIC
#include <map>
#include <mutex>

static std::mutex mutex;
static std::map<int, int> numbers;
static int total;

extern "C" int plugin_add(int number) {
    std::lock_guard<std::mutex> guard(mutex);
    total += number;
    numbers[total] = number;
    if (numbers.size() > 2) numbers.erase(numbers.begin());
    return total;
}
