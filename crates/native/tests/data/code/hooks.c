// Hooks as the stub archive has them (hidden), printing name, return address and operand.
#include <stdio.h>
#define HIDDEN __attribute__((visibility("hidden")))
#define HOOK(name) \
    HIDDEN void __tsan_##name(void *p) { printf("%s %lx %lx\n", #name, (long)__builtin_return_address(0), (long)p); }
HOOK(read1) HOOK(read2) HOOK(read4) HOOK(read8) HOOK(write1) HOOK(write2) HOOK(write4) HOOK(write8)
HIDDEN void __tsan_func_entry(void *p) { (void)p; }
HIDDEN void __tsan_func_exit(void) {}
HIDDEN void __tsan_init(void) {}
int elsewhere = 13;
void outside(void) {}
void *escape(void *p) { return p; }
