//! The system calls of the core: waiting, waking, and whom to wake. Made directly, because a hook must not enter the
//! target's C library. This is the only module of the core that knows the operating system; front ends make theirs
//! through [`syscall`].

use std::sync::atomic::AtomicU32;

pub const SYS_FUTEX: usize = 202;
const FUTEX_WAIT: usize = 0;
const FUTEX_WAKE: usize = 1;

/// # Safety
/// The arguments must be right for system call `number`.
pub unsafe fn syscall(number: usize, args: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the kernel's calling convention; rcx and r11 are clobbered by the instruction.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") args[0], in("rsi") args[1], in("rdx") args[2],
            in("r10") args[3], in("r8") args[4], in("r9") args[5],
            lateout("rcx") _, lateout("r11") _,
            options(nostack)
        );
    }
    result
}

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

/// Sleeps while `word` is `expected`, at most `timeout` nanoseconds. The word may be shared between processes.
pub fn futex_wait(word: &AtomicU32, expected: u32, timeout: Option<u64>) {
    let spec =
        timeout.map(|ns| Timespec { seconds: (ns / 1_000_000_000) as i64, nanoseconds: (ns % 1_000_000_000) as i64 });
    let spec = spec.as_ref().map_or(0, |spec| spec as *const Timespec as usize);
    // SAFETY: the word and the time are valid for the call.
    unsafe { syscall(SYS_FUTEX, [word.as_ptr() as usize, FUTEX_WAIT, expected as usize, spec, 0, 0]) };
}

pub fn futex_wake(word: &AtomicU32) {
    // SAFETY: waking needs a valid address only.
    unsafe { syscall(SYS_FUTEX, [word.as_ptr() as usize, FUTEX_WAKE, i32::MAX as usize, 0, 0, 0]) };
}

pub fn thread_id() -> u32 {
    // SAFETY: gettid has no arguments.
    unsafe { syscall(186, [0; 6]) as u32 }
}

/// Whether a process exists.
pub fn alive(pid: u32) -> bool {
    const ESRCH: isize = -3;
    // SAFETY: signal 0 only asks.
    unsafe { syscall(62, [pid as usize, 0, 0, 0, 0, 0]) != ESRCH }
}

/// Lets another thread have the processor.
pub fn yield_now() {
    // SAFETY: sched_yield has no arguments.
    unsafe { syscall(24, [0; 6]) };
}

pub fn monotonic_now() -> u64 {
    let mut now = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: clock_gettime(CLOCK_MONOTONIC) fills the struct.
    unsafe { syscall(228, [1, &raw mut now as usize, 0, 0, 0, 0]) };
    now.seconds as u64 * 1_000_000_000 + now.nanoseconds as u64
}
