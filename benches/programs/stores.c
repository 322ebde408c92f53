// Nondeterministic reads at the size of the largest trace that was published: client threads put goods on shared shelves, and now
// and then set a price or look at one, each shelf under its own lock.
//   stores THREADS SHELVES ROUNDS PRICES-PER-THOUSAND
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct shelf {
    pthread_mutex_t lock;
    long goods;
    long price;
};

static struct shelf *shelves;
static long shelf_count, rounds;
static unsigned long prices;
static pthread_mutex_t totals_lock = PTHREAD_MUTEX_INITIALIZER;
static long total;

static unsigned long next(unsigned long *state) {
    *state = *state * 6364136223846793005ul + 1442695040888963407ul;
    return *state >> 33;
}

static void add_goods(struct shelf *shelf, long amount) {
    pthread_mutex_lock(&shelf->lock);
    shelf->goods += amount;
    pthread_mutex_unlock(&shelf->lock);
}

static void set_price(struct shelf *shelf, long price) {
    pthread_mutex_lock(&shelf->lock);
    shelf->price = price;
    pthread_mutex_unlock(&shelf->lock);
}

static long look(struct shelf *shelf) {
    pthread_mutex_lock(&shelf->lock);
    long price = shelf->price;
    pthread_mutex_unlock(&shelf->lock);
    return price;
}

static void *client(void *arg) {
    unsigned long state = (unsigned long)(size_t)arg;
    long seen = 0;
    for (long round = 0; round < rounds; round++) {
        struct shelf *shelf = &shelves[next(&state) % (unsigned long)shelf_count];
        unsigned long what = next(&state) % 1000;
        if (what < prices)
            set_price(shelf, (long)what);
        else if (what < 2 * prices)
            seen += look(shelf);
        else
            add_goods(shelf, 1);
    }
    pthread_mutex_lock(&totals_lock);
    total += seen;
    pthread_mutex_unlock(&totals_lock);
    return NULL;
}

int main(int argc, char **argv) {
    long threads = argc > 1 ? atol(argv[1]) : 5;
    shelf_count = argc > 2 ? atol(argv[2]) : 40;
    rounds = argc > 3 ? atol(argv[3]) : 200;
    prices = argc > 4 ? (unsigned long)atol(argv[4]) : 10;
    shelves = calloc((size_t)shelf_count, sizeof *shelves);
    pthread_t *ids = calloc((size_t)threads, sizeof *ids);
    if (!shelves || !ids)
        return 1;
    for (long i = 0; i < shelf_count; i++) {
        pthread_mutex_init(&shelves[i].lock, NULL);
        shelves[i].goods = 100;
    }
    for (long i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, client, (void *)(size_t)(i + 1));
    for (long i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    long sum = 0;
    for (long i = 0; i < shelf_count; i++)
        sum += shelves[i].goods;
    printf("%ld\n", sum);
    free(ids);
    free(shelves);
    return sum >= 100 * shelf_count ? 0 : 1;
}
