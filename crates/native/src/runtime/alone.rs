//! Whether the process has one thread: code that the C++ library has inlined into the program asks libc for it.

use super::{Token, ranges};

/// glibc's `__libc_single_threaded`, the program's copy of it if it has one. Null before glibc 2.32.
#[unsafe(naked)]
extern "C" fn single_threaded() -> *const u8 {
    std::arch::naked_asm!(
        ".weak __libc_single_threaded",
        "mov rax, qword ptr [rip + __libc_single_threaded@GOTPCREL]",
        "ret"
    )
}

/// Calls a function of libc that may make the first thread, and records that the process is no longer single-threaded:
/// code that the C++ library has inlined into the program reads that.
pub fn no_longer_alone<R>(token: &mut Token<'_>, pc: u64, make: impl FnOnce() -> R) -> R {
    let flag = single_threaded();
    // SAFETY: null or a byte of libc.
    let alone = || !flag.is_null() && unsafe { flag.read_volatile() } != 0;
    let before = alone();
    let result = make();
    if before && !alone() {
        ranges::wrote(token, flag, 1, pc);
    }
    result
}
