// primitive: bit-field
// kind: ok
// about: the two flags live in storage units of their own, kept apart by a zero-width field.
#include <pthread.h>
#include <stdio.h>

static struct {
    unsigned char open : 1;
    unsigned char : 0;
    unsigned char full : 1;
} valve;

static void *open_it(void *arg) {
    (void)arg;
    valve.open = 1;
    return NULL;
}

static void *fill_it(void *arg) {
    (void)arg;
    valve.full = 1;
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, open_it, NULL);
    pthread_create(&b, NULL, fill_it, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("open %d full %d\n", valve.open, valve.full);
    return 0;
}
