// primitive: PTHREAD_MUTEX_RECURSIVE, std::recursive_mutex
// kind: race
// lines: 19 26
// about: the update writes a node without the recursive lock that the sum holds.
#include <pthread.h>
#include <stdio.h>

struct node {
    int value;
    struct node *left, *right;
};

static pthread_mutex_t lock;
static struct node leaf_a = {1, NULL, NULL}, leaf_b = {2, NULL, NULL}, root = {4, &leaf_a, &leaf_b};

static int sum(const struct node *n) {
    if (!n) return 0;
    pthread_mutex_lock(&lock);
    int total = n->value + sum(n->left) + sum(n->right); // (1)
    pthread_mutex_unlock(&lock);
    return total;
}

static void *update(void *arg) {
    (void)arg;
    leaf_b.value = 20; // (2)
    return NULL;
}

int main(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &attributes);
    pthread_t writer;
    pthread_create(&writer, NULL, update, NULL);
    int seen = sum(&root);
    pthread_join(writer, NULL);
    printf("%s, then %d\n", seen == 7 || seen == 25 ? "whole" : "torn", sum(&root));
    pthread_mutex_destroy(&lock);
    return 0;
}
