// about: chained hash table with striped mutexes, hammered by inserts, lookups and removals: a lock round per operation.
// usage: hashtable [operations per thread=1500000] [threads=2] [stripes=16]
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_THREADS = 64, MAX_STRIPES = 1024, BUCKETS = 4096, KEYS = 8192 };

struct node {
    uint32_t key;
    uint32_t count;
    struct node *next;
};

static int operations = 1500000, threads = 2, stripes = 16;
static struct node *table[BUCKETS];
static pthread_mutex_t stripe[MAX_STRIPES];

static uint32_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

// Counts how often the key was used; the sum of all counts does not depend on the schedule.
static void bump(uint32_t key) {
    struct node **slot = &table[key % BUCKETS];
    for (struct node *n = *slot; n; n = n->next)
        if (n->key == key) {
            n->count++;
            return;
        }
    struct node *fresh = malloc(sizeof *fresh);
    if (!fresh) abort();
    *fresh = (struct node){key, 1, *slot};
    *slot = fresh;
}

static uint32_t look(uint32_t key) {
    for (struct node *n = table[key % BUCKETS]; n; n = n->next)
        if (n->key == key) return n->count;
    return 0;
}

// Takes the key out and returns its count.
static uint32_t take(uint32_t key) {
    for (struct node **slot = &table[key % BUCKETS]; *slot; slot = &(*slot)->next)
        if ((*slot)->key == key) {
            struct node *gone = *slot;
            uint32_t count = gone->count;
            *slot = gone->next;
            free(gone);
            return count;
        }
    return 0;
}

struct tally {
    uint64_t taken, bumps, seen;
};

static void *work(void *arg) {
    struct tally *mine = arg, sum = {0, 0, 0};
    uint64_t state = mine->taken; // the seed comes in here
    for (int i = 0; i < operations; i++) {
        uint32_t key = next_random(&state) % KEYS, what = next_random(&state) % 8;
        pthread_mutex_t *lock = &stripe[key % BUCKETS % (uint32_t)stripes];
        pthread_mutex_lock(lock);
        if (what < 4) {
            bump(key);
            sum.bumps++;
        } else if (what < 7)
            sum.seen += look(key) != 0;
        else
            sum.taken += take(key);
        pthread_mutex_unlock(lock);
    }
    *mine = sum;
    return NULL;
}

int main(int argc, char **argv) {
    if (argc > 1) operations = atoi(argv[1]);
    if (argc > 2) threads = atoi(argv[2]);
    if (argc > 3) stripes = atoi(argv[3]);
    if (operations < 0 || threads < 1 || threads > MAX_THREADS || stripes < 1 || stripes > MAX_STRIPES) {
        fprintf(stderr, "usage: hashtable [operations] [threads 1..%d] [stripes 1..%d]\n", MAX_THREADS, MAX_STRIPES);
        return 2;
    }
    for (int i = 0; i < stripes; i++)
        pthread_mutex_init(&stripe[i], NULL);
    pthread_t team[MAX_THREADS];
    struct tally tallies[MAX_THREADS];
    for (int t = 0; t < threads; t++) {
        tallies[t] = (struct tally){(uint64_t)t + 1, 0, 0};
        pthread_create(&team[t], NULL, work, &tallies[t]);
    }
    uint64_t bumps = 0, found = 0;
    for (int t = 0; t < threads; t++) {
        pthread_join(team[t], NULL);
        bumps += tallies[t].bumps;
        found += tallies[t].taken;
    }
    for (uint32_t key = 0; key < KEYS; key++)
        found += take(key);
    printf("checksum %llu %s\n", (unsigned long long)found, found == bumps ? "good" : "LOST");
    return found != bumps;
}
