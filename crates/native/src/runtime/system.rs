//! System calls: raw ones for the runtime, `syscall()` of the program, and the bracket around calls that may block
//! where the model cannot see.

use super::{Inside, enter, futexes, signals};
use libc::{c_int, c_long, timespec};
use reweave_conductor::{NEVER, sys};
use reweave_model::Op;
use std::ffi::CStr;

/// # Safety
/// As for the system call.
pub unsafe fn raw(number: usize, arguments: [usize; 6]) -> isize {
    // SAFETY: by the contract.
    unsafe { sys::syscall(number, arguments) }
}

pub fn close(descriptor: c_int) {
    // SAFETY: closes a descriptor of ours.
    unsafe { raw(3, [descriptor as usize, 0, 0, 0, 0, 0]) };
}

/// Calls `each` with the names in a folder, `.` and `..` left out, without touching libc. False: it cannot be read.
pub fn each_entry(folder: &CStr, mut each: impl FnMut(&[u8])) -> bool {
    let mut entries = [0u64; 512];
    // SAFETY: raw calls on a local buffer, which the kernel fills with whole entries.
    unsafe {
        let folder = raw(2, [folder.as_ptr() as usize, libc::O_DIRECTORY as usize, 0, 0, 0, 0]);
        if folder < 0 {
            return false;
        }
        loop {
            let len = raw(217, [folder as usize, entries.as_mut_ptr() as usize, size_of_val(&entries), 0, 0, 0]);
            let mut at = 0;
            while at < len.max(0) as usize {
                let entry = entries.as_ptr().byte_add(at).cast::<libc::dirent64>();
                let name = CStr::from_ptr((&raw const (*entry).d_name).cast()).to_bytes();
                if name != b"." && name != b".." {
                    each(name);
                }
                at += usize::from((&raw const (*entry).d_reclen).read());
            }
            if len <= 0 {
                break;
            }
        }
        close(folder as c_int);
    }
    true
}

pub fn set_errno(errno: c_int) {
    // SAFETY: this thread's errno.
    unsafe { *libc::__errno_location() = errno };
}

pub fn errno() -> c_int {
    // SAFETY: this thread's errno.
    unsafe { *libc::__errno_location() }
}

/// Runs a call that may block without the token. `call` is the system call's number, for the trace.
pub fn blocking<R: Copy + Into<i64>>(inside: &mut Inside, pc: u64, call: u32, code: impl FnOnce() -> R) -> R {
    inside.sync_point();
    inside.step(pc, Op::Leave { call });
    // One that the schedule brings at once must find the thread in its call.
    let mask = (inside.me().replay.interrupt_at.get() != NEVER).then(|| signals::set_mask(u64::MAX));
    let (result, errno) = inside.outside(|row| {
        row.in_call.set(true);
        mask.map(signals::set_mask);
        let result = code();
        row.in_call.set(false);
        (result, errno())
    });
    if inside.is_interrupted() {
        // It came during the call, and the call was over before it was delivered.
        signals::deliver(inside);
    }
    inside.step(pc, Op::Return { call, result: result.into() });
    inside.deliver();
    set_errno(errno);
    result
}

/// The program's `syscall`, whose arguments fill the registers.
///
/// # Safety
/// As for the system call.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall() {
    super::tls::pc_in_tls!(syscall_body)
}

unsafe extern "C-unwind" fn syscall_body(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    let pc = super::tls::caller_pc();
    let mut result = None;
    if number == libc::SYS_futex
        && let Some(mut inside) = enter()
    {
        result = futexes::call(&mut inside, pc, a as u64, b as c_int, c as u32, d as *const timespec);
    }
    // SAFETY: the program's own call.
    let result = result.unwrap_or_else(|| unsafe {
        match number {
            libc::SYS_gettid | libc::SYS_getpid => raw(number as usize, [a, b, c, d, e, f]),
            _ => super::transfers::other_syscall(number, [a, b, c, d, e, f], pc),
        }
    });
    if (-4095..0).contains(&result) {
        set_errno(-result as c_int);
        return -1;
    }
    result as c_long
}
