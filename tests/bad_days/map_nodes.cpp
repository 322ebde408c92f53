// about: three threads put into a std::map and take out, under a lock, and look at every field of every node, which the C++ library links and recolours.
// exit: 0
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>

static std::map<int, int> numbers;
static std::mutex mutex;
static std::uintptr_t sum;

static void look(const std::_Rb_tree_node_base *node) {
    if (!node) return;
    sum += node->_M_color + reinterpret_cast<std::uintptr_t>(node->_M_parent);
    look(node->_M_left);
    look(node->_M_right);
}

static void work(unsigned seed) {
    for (int i = 0; i < 150; i++) {
        std::lock_guard<std::mutex> guard(mutex);
        seed = seed * 1103515245 + 12345;
        int number = (seed >> 16) % 64;
        if (numbers.size() < 10 || seed & 0x100)
            numbers[number] = i;
        else if (seed & 0x200)
            numbers.erase(number);
        else
            numbers.erase(numbers.begin());
        const std::_Rb_tree_node_base *header = numbers.end()._M_node;
        sum += reinterpret_cast<std::uintptr_t>(header->_M_left) + reinterpret_cast<std::uintptr_t>(header->_M_right);
        look(header->_M_parent);
    }
}

int main() {
    std::thread first(work, 1), second(work, 7), third(work, 99);
    first.join();
    second.join();
    third.join();
    std::printf("%s\n", sum ? "looked" : "nothing there");
}
