//! Pipes, sockets, files: calls that wait for a descriptor wait in the scheduler, not in the kernel.

use libc::c_long;
use reweave_conductor::Thread;

pub fn poll_waiters(_waiters: &mut [&mut Thread], _timeout: u64) {}

/// A system call made through `syscall()`.
///
/// # Safety
/// As for the system call.
pub unsafe fn other_syscall(number: c_long, arguments: [usize; 6], _pc: u64) -> isize {
    // SAFETY: by the contract.
    unsafe { super::system::raw(number as usize, arguments) }
}
