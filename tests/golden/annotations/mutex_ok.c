// primitive: __tsan_mutex_pre_lock, __tsan_mutex_post_lock
// kind: ok
// about: a try-lock in assembly is announced as a mutex and held for every access.
#include <pthread.h>
#include <stdio.h>

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
enum { TRY_LOCK = 1 << 4, TRY_LOCK_FAILED = 1 << 5 };
void __tsan_mutex_create(void *address, unsigned flags);
void __tsan_mutex_pre_lock(void *address, unsigned flags);
void __tsan_mutex_post_lock(void *address, unsigned flags, int recursion);
int __tsan_mutex_pre_unlock(void *address, unsigned flags);
void __tsan_mutex_post_unlock(void *address, unsigned flags);
#define ANNOTATE(call) call
#else
#define ANNOTATE(call) ((void)0)
#endif

static int word, count;

static int try_lock(void) {
    int taken = 1;
    ANNOTATE(__tsan_mutex_pre_lock(&word, TRY_LOCK));
    __asm__ volatile("xchgl %0, %1" : "+r"(taken), "+m"(word) : : "memory");
    ANNOTATE(__tsan_mutex_post_lock(&word, taken ? TRY_LOCK | TRY_LOCK_FAILED : TRY_LOCK, 0));
    return !taken;
}

static void unlock(void) {
    ANNOTATE(__tsan_mutex_pre_unlock(&word, 0));
    __asm__ volatile("movl $0, %0" : "=m"(word) : : "memory");
    ANNOTATE(__tsan_mutex_post_unlock(&word, 0));
}

static void *work(void *arg) {
    int skipped = 0;
    for (int i = 0; i < 3; i++) {
        if (try_lock()) {
            count++;
            unlock();
        } else
            skipped++;
    }
    *(int *)arg = skipped;
    return NULL;
}

int main(void) {
    pthread_t team[2];
    int skipped[2];
    ANNOTATE(__tsan_mutex_create(&word, 0));
    for (int i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, work, &skipped[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], NULL);
    printf("tries %d\n", count + skipped[0] + skipped[1]);
    return 0;
}
