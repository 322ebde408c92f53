// primitive: __tsan_acquire, __tsan_release
// kind: ok
// about: a hand-over in assembly, which no tool can see, is announced by __tsan_release and __tsan_acquire.
#include <pthread.h>
#include <stdio.h>

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#else
#define __tsan_acquire(address) ((void)(address))
#define __tsan_release(address) ((void)(address))
#endif

static int handed, first, second;

static void hand_over(void) {
    int one = 1;
    __tsan_release(&handed);
    __asm__ volatile("xchgl %0, %1" : "+r"(one), "+m"(handed) : : "memory");
}

static int received(void) {
    int seen = 0;
    __asm__ volatile("lock; xaddl %0, %1" : "+r"(seen), "+m"(handed) : : "memory");
    if (seen)
        __tsan_acquire(&handed);
    return seen;
}

static void *produce(void *arg) {
    (void)arg;
    first = 20;
    second = 22;
    hand_over();
    return NULL;
}

static void *consume(void *arg) {
    if (received())
        *(int *)arg = first + second;
    return NULL;
}

int main(void) {
    pthread_t producer, consumer;
    int sum = 42;
    pthread_create(&producer, NULL, produce, NULL);
    pthread_create(&consumer, NULL, consume, &sum);
    pthread_join(producer, NULL);
    pthread_join(consumer, NULL);
    printf("sum %d\n", sum);
    return 0;
}
