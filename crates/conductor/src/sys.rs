//! The few system calls of the core, made directly: a hook must not enter the target's libc.

use std::sync::atomic::{AtomicU32, Ordering};

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

pub fn monotonic_now() -> u64 {
    let mut now = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: clock_gettime(CLOCK_MONOTONIC) fills the struct.
    unsafe { syscall(228, [1, &raw mut now as usize, 0, 0, 0, 0]) };
    now.seconds as u64 * 1_000_000_000 + now.nanoseconds as u64
}

/// A lock for the short moments in which threads without the token touch the thread table. Never held across a
/// wake-up: a woken thread would run into it at once (0.7 s became 49 s).
pub struct Spin(AtomicU32);

impl Spin {
    pub const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    pub fn lock(&self) {
        let mut tries = 0u32;
        while self.0.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            tries += 1;
            if tries < 64 {
                std::hint::spin_loop();
            } else {
                // SAFETY: sched_yield has no arguments.
                unsafe { syscall(24, [0; 6]) };
            }
        }
    }

    pub fn unlock(&self) {
        self.0.store(0, Ordering::Release);
    }
}

impl Default for Spin {
    fn default() -> Self {
        Self::new()
    }
}
