// kind: failure
// about: pop reads the top and stores the next one: two may pop the same
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

struct node {
    struct node *next;
    atomic_int popped;
};

static struct node nodes[3];
static _Atomic(struct node *) top;

static struct node *pop(void) {
    struct node *first = atomic_load(&top);
    if (first)
        atomic_store(&top, first->next);
    return first;
}

static void *drain(void *unused) {
    struct node *own = pop();
    if (own)
        assert(atomic_fetch_add(&own->popped, 1) == 0);
    return unused;
}

int main(void) {
    for (int i = 0; i < 3; i++) {
        nodes[i].next = atomic_load(&top);
        atomic_store(&top, &nodes[i]);
    }
    pthread_t one, two;
    pthread_create(&one, NULL, drain, NULL);
    pthread_create(&two, NULL, drain, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    puts("done");
    return 0;
}
