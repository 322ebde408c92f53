// primitive: AnnotateHappensBefore, AnnotateHappensAfter
// kind: ok
// about: a hand-over in assembly is announced by the dynamic annotations.
#include <pthread.h>
#include <stdio.h>

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
void AnnotateHappensBefore(const char *file, int line, const volatile void *address);
void AnnotateHappensAfter(const char *file, int line, const volatile void *address);
#define ANNOTATE_HAPPENS_BEFORE(address) AnnotateHappensBefore(__FILE__, __LINE__, address)
#define ANNOTATE_HAPPENS_AFTER(address) AnnotateHappensAfter(__FILE__, __LINE__, address)
#else
#define ANNOTATE_HAPPENS_BEFORE(address) ((void)(address))
#define ANNOTATE_HAPPENS_AFTER(address) ((void)(address))
#endif

static int flag, value;

static void *produce(void *arg) {
    int one = 1;
    (void)arg;
    value = 7;
    ANNOTATE_HAPPENS_BEFORE(&flag);
    __asm__ volatile("xchgl %0, %1" : "+r"(one), "+m"(flag) : : "memory");
    return NULL;
}

static void *consume(void *arg) {
    int seen = 0;
    __asm__ volatile("lock; xaddl %0, %1" : "+r"(seen), "+m"(flag) : : "memory");
    if (seen) {
        ANNOTATE_HAPPENS_AFTER(&flag);
        *(int *)arg = value;
    }
    return NULL;
}

int main(void) {
    pthread_t producer, consumer;
    int got = 7;
    pthread_create(&producer, NULL, produce, NULL);
    pthread_create(&consumer, NULL, consume, &got);
    pthread_join(producer, NULL);
    pthread_join(consumer, NULL);
    printf("got %d\n", got);
    return 0;
}
