/* Makes, from hooks.def, the hooks, their table and their names.
 *
 * Hidden: each executable and shared object has its own hooks and its own
 * table, so that none of them depends on another one having been built with
 * reweave. Weak: a program that brings its own copy of the dynamic
 * annotations keeps it.
 *
 * The jump leaves every register alone, so one shape serves all signatures and
 * the runtime still finds the caller's pc on top of the stack.
 */

#if !defined(__x86_64__) || defined(__ILP32__)
#error "reweave instruments 64-bit x86 programs only"
#endif

    .section .rodata.reweave_names,"a",@progbits
    .section .data.rel.ro.reweave_names,"aw",@progbits
    .balign 8
    .globl reweave_names
    .hidden reweave_names
reweave_names:

    .section .data.reweave_table,"aw",@progbits
    .balign 64
    .globl reweave_table
    .hidden reweave_table
    .type reweave_table, @object
reweave_table:

#define HOOK(symbol, default)                                       \
    .section .text.reweave_hooks,"ax",@progbits                   ; \
    .balign 8                                                     ; \
    .weak symbol                                                  ; \
    .hidden symbol                                                ; \
    .type symbol, @function                                       ; \
symbol:                                                           ; \
    jmp *.Lslot_##symbol(%rip)                                    ; \
    .size symbol, . - symbol                                      ; \
    .section .data.reweave_table                                  ; \
.Lslot_##symbol:                                                  ; \
    .quad reweave_default_##default                               ; \
    .section .rodata.reweave_names                                ; \
.Lname_##symbol:                                                  ; \
    .asciz #symbol                                                ; \
    .section .data.rel.ro.reweave_names                           ; \
    .quad .Lname_##symbol                                         ;

#include "hooks.def"

    .section .data.reweave_table
    .globl reweave_table_end
    .hidden reweave_table_end
reweave_table_end:
    .size reweave_table, . - reweave_table

/* Whoever links a hook gets the constructor of register.c with it. */
    .section .data.rel.ro.reweave_names
    .quad reweave_stubs_anchor

/* How a host tool recognises an instrumented file, stripped or not. An
 * allocated note survives `strip` and `--gc-sections`. Layout: name size,
 * descriptor size, type, name, descriptor (version of the table's protocol). */
    .section .note.reweave,"a",@note
    .balign 4
    .long 8
    .long 4
    .long 1
    .asciz "reweave"
    .long 1

    .section .note.GNU-stack,"",@progbits
