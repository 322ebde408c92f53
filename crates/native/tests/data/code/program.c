// What each marked line should tell is in symbols.rs beside this folder.
#include <stdlib.h>
int balance, other, table[64];
int *pointer = table;
_Thread_local int mine;
extern int elsewhere;
void outside(void);
void *escape(void *p);

__attribute__((noinline)) void straight(void) {
    balance = 1; // straight-1
    other = 2;   // straight-2
}

__attribute__((noinline)) void branching(int x) {
    balance = 3; // branch-1
    if (x) other = 4; // branch-2
    table[1] = 5; // branch-3
}

__attribute__((noinline)) void calling(void) {
    balance = 6; // call-1
    outside();
    other = 7; // call-2
}

__attribute__((noinline)) int looping(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) {
        sum += table[i]; // loop-1
        balance = sum;   // loop-2
        __asm__ volatile("" ::: "memory");
    }
    return sum;
}

__attribute__((noinline)) int through(int *p, int i) {
    *p = 8;         // data-1
    table[i] = 9;   // data-2
    return *pointer; // data-3
}

__attribute__((noinline)) int frame(void) {
    int local = 1;
    int *p = escape(&local);
    local = 10; // frame-1
    return *p;
}

__attribute__((noinline)) int variable(int n) {
    int array[n];
    escape(array);
    array[0] = 11; // vla-1
    return *(int *)escape(array);
}

__attribute__((noinline)) void thread_local_(void) {
    mine = 12; // tls-1
}

__attribute__((noinline)) int far(void) {
    return elsewhere; // extern-1
}

__attribute__((noinline)) int choosing(int x) {
    int *p = pointer;
    switch (x) {
    case 1: p = &balance; break;
    case 2: outside(); break;
    case 3: p = table + x; break;
    case 4: other = 1; break;
    case 5: balance = 2; // switch-1
    case 6: other = 3; break; // switch-2
    case 7: table[2] = 1; break;
    }
    *p = 14; // switch-3
    return *p;
}

int main(int argc, char **argv) {
    straight();
    branching(argc);
    calling();
    looping(2);
    through(table + argc, argc + 2);
    frame();
    variable(argc + 4);
    thread_local_();
    for (int i = 0; i < 9; i++) choosing(i);
    return far() + atoi("0");
}
