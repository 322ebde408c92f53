// primitive: malloc, free, new, delete
// kind: race
// lines: 19 28
// exit: 0 134 139
// about: the list is deleted while its reader may still walk it.
#include <chrono>
#include <cstdio>
#include <thread>

struct Node {
    int pad[4];
    int value;
    Node *next;
};

static int sum(const Node *n) {
    int total = 0;
    for (; n; n = n->next)
        total += n->value; // (1)
    return total;
}

int main() {
    Node *second = new Node{{}, 2, nullptr}, *first = new Node{{}, 1, second};
    int total = 0;
    std::thread reader([&] { total = sum(first); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    delete second; // (2)
    reader.join();
    delete first;
    std::printf("sum %d\n", total);
}
