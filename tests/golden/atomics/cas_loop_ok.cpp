// primitive: atomic_compare_exchange_weak loop, std::atomic::compare_exchange_weak loop
// kind: ok
// about: nodes are pushed on a lock-free stack with release and walked after an acquire.
#include <atomic>
#include <cstdio>
#include <thread>

struct Node {
    int value = 0;
    Node *next = nullptr;
};

static std::atomic<Node *> top{nullptr};
static Node nodes[4];

static void push(Node &node, int value) {
    node.value = value;
    node.next = top.load(std::memory_order_relaxed);
    while (!top.compare_exchange_weak(node.next, &node, std::memory_order_acq_rel, std::memory_order_relaxed))
        ;
}

static int sum() {
    int total = 0;
    for (Node *n = top.load(std::memory_order_acquire); n; n = n->next)
        total += n->value;
    return total;
}

int main() {
    std::thread first([] {
        push(nodes[0], 1);
        push(nodes[1], 2);
    });
    std::thread second([] {
        push(nodes[2], 4);
        push(nodes[3], 8);
    });
    int early = sum();
    first.join();
    second.join();
    std::printf("%s, then %d\n", early <= 15 ? "some" : "nonsense", sum());
}
