// kind: race
// about: a hit moves its entry to the front while only the shared lock is held
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { ENTRIES = 3 };

struct entry {
    int key, value;
    struct entry *next;
};

static struct entry entries[ENTRIES];
static struct entry *newest;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void to_front(struct entry *found) {
    struct entry **link = &newest;
    while (*link != found)
        link = &(*link)->next;
    *link = found->next;
    found->next = newest;
    newest = found;
}

static int get(int key) {
    int value = -1;
    pthread_rwlock_rdlock(&lock);
    for (struct entry *at = newest; at; at = at->next) {
        if (at->key == key) {
            value = at->value;
            if (at != newest)
                to_front(at);
            break;
        }
    }
    pthread_rwlock_unlock(&lock);
    return value;
}

static void *ask(void *key) {
    assert(get((int)(long)key) == 10 * (int)(long)key);
    return NULL;
}

int main(void) {
    for (int i = 0; i < ENTRIES; i++) {
        entries[i] = (struct entry){ .key = i, .value = 10 * i, .next = newest };
        newest = &entries[i];
    }
    pthread_t one, two;
    pthread_create(&one, NULL, ask, (void *)0);
    pthread_create(&two, NULL, ask, (void *)1);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    int length = 0;
    for (struct entry *at = newest; at && length < 10; at = at->next)
        length++;
    assert(length == ENTRIES);
    puts("done");
    return 0;
}
