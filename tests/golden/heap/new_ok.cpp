// primitive: malloc, free, new, delete
// kind: ok
// about: the list is deleted once its reader has been joined.
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
        total += n->value;
    return total;
}

int main() {
    Node *second = new Node{{}, 2, nullptr}, *first = new Node{{}, 1, second};
    int total = 0;
    std::thread reader([&] { total = sum(first); });
    reader.join();
    delete second;
    delete first;
    std::printf("sum %d\n", total);
}
