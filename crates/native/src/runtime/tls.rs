//! Thread-local state without std: one pointer in initial-exec TLS, which costs two loads and never allocates.

use super::Thread;
use std::arch::{asm, global_asm};

global_asm!(
    ".pushsection .tbss,\"awT\",@nobits",
    ".balign 8",
    ".globl reweave_thread",
    ".hidden reweave_thread",
    "reweave_thread: .zero 8",
    ".globl reweave_ended",
    ".hidden reweave_ended",
    "reweave_ended: .zero 8",
    ".globl reweave_pc",
    ".hidden reweave_pc",
    "reweave_pc: .zero 8",
    ".globl reweave_new",
    ".hidden reweave_new",
    "reweave_new: .zero 8",
    ".popsection"
);

/// This thread's row; null before its first hook and after its end.
#[inline(always)]
pub fn thread() -> *mut Thread {
    let thread;
    // SAFETY: reads our own TLS slot.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + reweave_thread@GOTTPOFF]",
            "mov {0}, qword ptr fs:[{0}]",
            out(reg) thread, options(nostack, pure, readonly, preserves_flags)
        );
    }
    thread
}

pub fn set_thread(thread: *mut Thread) {
    // SAFETY: writes our own TLS slot.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + reweave_thread@GOTTPOFF]",
            "mov qword ptr fs:[{0}], {1}",
            out(reg) _, in(reg) thread, options(nostack, preserves_flags)
        );
    }
}

/// Whether this thread has ended as far as the trace is concerned: what it still does is not adopted again.
pub fn ended() -> bool {
    let ended: u64;
    // SAFETY: reads our own TLS slot.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + reweave_ended@GOTTPOFF]",
            "mov {0}, qword ptr fs:[{0}]",
            out(reg) ended, options(nostack, readonly, preserves_flags)
        );
    }
    ended != 0
}

pub fn set_ended() {
    // SAFETY: writes our own TLS slot.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + reweave_ended@GOTTPOFF]",
            "mov qword ptr fs:[{0}], 1",
            out(reg) _, options(nostack, preserves_flags)
        );
    }
}

/// The caller's pc, left there by the stub of a hook whose arguments fill the registers.
pub fn caller_pc() -> u64 {
    let pc;
    // SAFETY: reads our own TLS slot.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + reweave_pc@GOTTPOFF]",
            "mov {0}, qword ptr fs:[{0}]",
            out(reg) pc, options(nostack, readonly, preserves_flags)
        );
    }
    pc
}

/// The body of such a stub: saves the pc, then jumps.
macro_rules! pc_in_tls {
    ($body:path) => {
        std::arch::naked_asm!(
            "mov r11, qword ptr [rip + reweave_pc@GOTTPOFF]",
            "mov r10, [rsp]",
            "mov qword ptr fs:[r11], r10",
            "jmp {body}",
            body = sym $body
        )
    };
}
pub(crate) use pc_in_tls;

/// Where the program asks for the memory that this thread allocates next, if a library does it for the program.
pub fn set_allocation(pc: u64) {
    // SAFETY: writes our own TLS slot.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + reweave_new@GOTTPOFF]",
            "mov qword ptr fs:[{0}], {1}",
            out(reg) _, in(reg) pc, options(nostack, preserves_flags)
        );
    }
}

/// Takes it.
pub fn allocation() -> Option<u64> {
    let pc: u64;
    // SAFETY: reads our own TLS slot.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + reweave_new@GOTTPOFF]",
            "mov {0}, qword ptr fs:[{0}]",
            out(reg) pc, options(nostack, readonly, preserves_flags)
        );
    }
    if pc == 0 {
        return None;
    }
    set_allocation(0);
    Some(pc)
}
