// primitive: AnnotateIgnoreReadsBegin
// kind: race
// lines: 28 41
// about: a plain read comes after the end of the ignored part.
#include <pthread.h>
#include <stdio.h>

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
#define IGNORE_READS_BEGIN() AnnotateIgnoreReadsBegin(__FILE__, __LINE__)
#define IGNORE_READS_END() AnnotateIgnoreReadsEnd(__FILE__, __LINE__)
#else
#define IGNORE_READS_BEGIN() ((void)0)
#define IGNORE_READS_END() ((void)0)
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int hits;

static void *hit(void *arg) {
    (void)arg;
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&lock);
        __atomic_store_n(&hits, hits + 1, __ATOMIC_RELAXED); // (1)
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t hitter;
    int seen;
    pthread_create(&hitter, NULL, hit, NULL);
    IGNORE_READS_BEGIN();
    seen = __atomic_load_n(&hits, __ATOMIC_RELAXED);
    IGNORE_READS_END();
    seen += hits; // (2)
    pthread_join(hitter, NULL);
    printf("%s, then %d\n", seen >= 0 && seen <= 6 ? "valid" : "torn", hits);
    return 0;
}
