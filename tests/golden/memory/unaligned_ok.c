// primitive: unaligned access
// kind: ok
// about: two threads write neighbouring unaligned fields that do not overlap.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

struct __attribute__((packed)) record {
    uint8_t tag;
    uint32_t first; // bytes 1 to 4
    uint16_t second; // bytes 5 and 6
    uint64_t third; // bytes 7 to 14, across a word boundary
};

union frame {
    struct record record;
    struct __attribute__((packed)) {
        uint8_t skip[5];
        uint64_t long_second; // bytes 5 to 12
    } wrong;
};

static _Alignas(16) union frame frame;

static void *fill_middle(void *arg) {
    (void)arg;
    frame.record.second = 0x2222;
    return NULL;
}

static void *fill_outer(void *arg) {
    (void)arg;
    frame.record.first = 0x11111111;
    frame.record.third = 0x3333333333333333u;
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, fill_middle, NULL);
    pthread_create(&b, NULL, fill_outer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%x %x %llx\n", (unsigned)frame.record.first, (unsigned)frame.record.second, (unsigned long long)frame.record.third);
    return 0;
}
