// about: a long life in which threads, descriptors, objects or a library (path in the third argument) come and go for so many rounds,
// and nothing of them is left. It says by how many KiB it has grown since the first tenth of the rounds.
// exit: 0
// flags: -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

void __tsan_acquire(void *place) __attribute__((weak));
void __tsan_release(void *place) __attribute__((weak));

static void check(int right, const char *what) {
    if (!right) {
        perror(what);
        abort();
    }
}

static sem_t done;

static void *ends(void *arg) {
    return arg;
}

static int ends_c11(void *arg) {
    return arg != NULL;
}

static void *says_so(void *arg) {
    sem_post(&done);
    return arg;
}

static void *detaches_itself(void *arg) {
    pthread_detach(pthread_self());
    return says_so(arg);
}

static void *waits_for_ever(void *arg) {
    sem_t *never = arg;
    sem_post(&done);
    sem_wait(never);
    return arg;
}

static struct timespec later(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    return until;
}

/// Every way for a thread to end and to be forgotten.
static void threads(void) {
    pthread_t thread;
    pthread_attr_t attributes;
    thrd_t other;
    sem_t never;
    void *value;
    pthread_create(&thread, NULL, ends, NULL);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, ends, NULL);
    while (pthread_tryjoin_np(thread, NULL) == EBUSY)
        sched_yield();
    struct timespec until = later();
    pthread_create(&thread, NULL, ends, NULL);
    while (pthread_timedjoin_np(thread, NULL, &until) == ETIMEDOUT)
        until = later();
    thrd_create(&other, ends_c11, NULL);
    thrd_join(other, NULL);
    pthread_create(&thread, NULL, says_so, NULL);
    pthread_detach(thread);
    sem_wait(&done);
    pthread_create(&thread, NULL, says_so, NULL);
    sem_wait(&done);
    // It has ended by now, most times.
    sched_yield();
    pthread_detach(thread);
    pthread_create(&thread, NULL, detaches_itself, NULL);
    sem_wait(&done);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_create(&thread, &attributes, says_so, NULL);
    pthread_attr_destroy(&attributes);
    sem_wait(&done);
    sem_init(&never, 0, 0);
    pthread_create(&thread, NULL, waits_for_ever, &never);
    sem_wait(&done);
    pthread_cancel(thread);
    pthread_join(thread, &value);
    check(value == PTHREAD_CANCELED, "cancel");
    sem_destroy(&never);
    pthread_create(&thread, NULL, says_so, NULL);
    sem_wait(&done);
    sched_yield();
    pthread_cancel(thread);
    pthread_join(thread, NULL);
}

static void through(int to, int from) {
    char byte = 'x';
    check(write(to, &byte, 1) == 1 && read(from, &byte, 1) == 1, "through");
}

/// Pipes, pairs of sockets and event counters, closed in more than one way.
static void descriptors(void) {
    int pipe_ends[2], pair[2], other[2];
    check(pipe(pipe_ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "pipe");
    through(pipe_ends[1], pipe_ends[0]);
    through(pair[0], pair[1]);
    through(pair[1], pair[0]);
    int copy = dup(pipe_ends[1]);
    close(pipe_ends[1]);
    through(copy, pipe_ends[0]);
    // What one end has sent is there when that end is gone.
    char byte = 'y';
    check(write(pair[0], &byte, 1) == 1, "write");
    close(pair[0]);
    check(pipe(other) == 0, "pipe");
    through(other[1], other[0]);
    check(read(pair[1], &byte, 1) == 1 && byte == 'y', "read");
    close(pair[1]);
    // Closed by putting another one in its place.
    dup2(other[1], copy);
    dup2(other[0], pipe_ends[0]);
    FILE *stream = fdopen(copy, "w");
    fputc('z', stream);
    fclose(stream);
    check(read(pipe_ends[0], &byte, 1) == 1 && byte == 'z', "stream");
    close(other[1]);
    close(other[0]);
    close(pipe_ends[0]);
    int counter = eventfd(0, 0);
    uint64_t count = 1;
    check(write(counter, &count, 8) == 8 && read(counter, &count, 8) == 8, "eventfd");
    close(counter);
}

struct everything {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    pthread_rwlock_t rwlock;
    pthread_spinlock_t spin;
    pthread_once_t once;
    pthread_barrier_t barrier;
    sem_t semaphore;
    int futex;
    int place;
};

static void nothing(void) {
}

/// Objects that are used and never destroyed: the memory they are in goes. It never comes to the same address again.
static void objects(void) {
    static uintptr_t next = 0x200000000000;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    struct everything *all = mmap((void *)next, sizeof *all, PROT_READ | PROT_WRITE, flags, -1, 0);
    check(all == (void *)next, "mmap");
    next += 4096;
    struct timespec soon = {0, 1000}, passed = {0, 0};
    all->mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    all->condition = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    all->rwlock = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
    all->once = (pthread_once_t)PTHREAD_ONCE_INIT;
    pthread_mutex_lock(&all->mutex);
    check(pthread_cond_timedwait(&all->condition, &all->mutex, &passed) == ETIMEDOUT, "timedwait");
    pthread_cond_signal(&all->condition);
    pthread_mutex_unlock(&all->mutex);
    pthread_rwlock_rdlock(&all->rwlock);
    pthread_rwlock_unlock(&all->rwlock);
    pthread_spin_init(&all->spin, 0);
    pthread_spin_lock(&all->spin);
    pthread_spin_unlock(&all->spin);
    pthread_once(&all->once, nothing);
    pthread_once(&all->once, nothing);
    pthread_barrier_init(&all->barrier, NULL, 1);
    pthread_barrier_wait(&all->barrier);
    sem_init(&all->semaphore, 0, 1);
    sem_wait(&all->semaphore);
    sem_post(&all->semaphore);
    syscall(SYS_futex, &all->futex, FUTEX_WAIT_PRIVATE, 0, &soon, NULL, 0);
    syscall(SYS_futex, &all->futex, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    if (__tsan_release) {
        __tsan_release(&all->place);
        __tsan_acquire(&all->place);
    }
    munmap(all, sizeof *all);
}

static const char *path;

static void library(void) {
    void *handle = dlopen(path, RTLD_NOW);
    check(handle != NULL, "dlopen");
    dlclose(handle);
}

/// KiB of memory that is no file's. No two runs read the same there: not asked in short ones, which can be repeated.
static long resident(long rounds) {
    if (rounds < 1000)
        return 0;
    char text[4096] = "";
    int file = open("/proc/self/status", O_RDONLY);
    check(file >= 0 && read(file, text, sizeof text - 1) > 0, "status");
    close(file);
    const char *line = strstr(text, "RssAnon:");
    check(line != NULL, "RssAnon");
    return atol(line + strlen("RssAnon:"));
}

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "threads";
    long rounds = count > 2 ? atol(words[2]) : 10, before = 0;
    path = count > 3 ? words[3] : "libm.so.6";
    void (*round)(void) = *what == 't' ? threads : *what == 'd' ? descriptors : *what == 'l' ? library : objects;
    sem_init(&done, 0, 0);
    for (long i = 0; i < rounds; i++) {
        if (i == rounds / 10)
            before = resident(rounds);
        round();
    }
    printf("%s: %ld KiB more\n", what, resident(rounds) - before);
    return 0;
}
