// about: a thread made by the clone system call, behind the back of the C library, works on an atomic and ends.
// exit: 0
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Alignas(16) char stack[65536];
static atomic_int word;

// Runs without thread-local storage of its own: touches nothing but the atomic.
__attribute__((no_sanitize("thread"))) static int work(void *arg) {
    (void)arg;
    atomic_fetch_add(&word, 41);
    return 0;
}

int main(void) {
    static _Atomic(pid_t) alive = 1;
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
    atomic_fetch_add(&word, 1);
    if (clone(work, stack + sizeof stack, flags, NULL, NULL, NULL, (void *)&alive) < 0) {
        perror("clone");
        return 2;
    }
    // The kernel clears `alive` and wakes its waiters when the thread ends.
    while (atomic_load(&alive) != 0)
        syscall(SYS_futex, (void *)&alive, FUTEX_WAIT, 1, NULL, NULL, 0);
    printf("word %d\n", atomic_load(&word));
    return 0;
}
