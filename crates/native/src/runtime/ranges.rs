//! Accesses to ranges: struct copies, mem* and str* functions, and libc calls that touch the caller's memory.

use super::register::Hook;
use super::{active, conductor, hold, threads, tls};
use reweave_conductor::Thread;
use reweave_conductor::policy::Next;
use reweave_model::AccessFlags;

/// Records a range access by compiled code; a write happens right after the hook.
pub fn range(addr: u64, size: u64, write: bool, flags: u8, pc: u64) {
    if size == 0 || !active() {
        return;
    }
    let thread = tls::thread();
    // SAFETY: the row of this very thread.
    let thread = match unsafe { thread.as_mut() } {
        Some(thread) => thread,
        None => match threads::adopt() {
            Some(thread) => thread,
            None => return,
        },
    };
    if thread.inside != 0 {
        return;
    }
    thread.inside = 1;
    hold(thread);
    one(thread, addr, size, write, flags, pc);
    thread.inside = 0;
}

/// A step of a thread that is inside the runtime and holds the token.
fn one(thread: &mut Thread, addr: u64, size: u64, write: bool, flags: u8, pc: u64) {
    let conductor = conductor();
    if !write && u32::try_from(size).is_ok_and(|size| conductor.recorder.is_copying(thread, addr, size)) {
        conductor.go_on(thread);
    }
    thread.next = Next::access(pc, addr, size, write);
    conductor.point(thread);
    if thread.ignores(write) {
        return conductor.recorder.settle(thread);
    }
    conductor.count(thread);
    conductor.recorder.range(thread, pc, addr, size.min(u32::MAX.into()) as u32, write, flags);
}

/// A libc function is about to read the caller's memory.
pub fn reads(thread: &mut Thread, addr: *const u8, size: usize, pc: u64) {
    if size > 0 && !addr.is_null() {
        one(thread, addr as u64, size as u64, false, AccessFlags::LIBRARY, pc);
    }
}

/// A libc function writes the caller's memory. Call it before the write where the scheduling decision must come first;
/// the bytes are taken when the thread next comes by.
pub fn writes(thread: &mut Thread, addr: *const u8, size: usize, pc: u64) {
    if size > 0 && !addr.is_null() {
        one(thread, addr as u64, size as u64, true, AccessFlags::LIBRARY, pc);
    }
}

/// A libc function has written the caller's memory: nothing may come between, so the scheduler is not asked.
pub fn wrote(thread: &mut Thread, addr: *const u8, size: usize, pc: u64) {
    if size > 0 && !addr.is_null() && !thread.ignores(true) {
        let conductor = conductor();
        conductor.keep(thread);
        conductor.count(thread);
        conductor.recorder.range(thread, pc, addr as u64, size as u32, true, AccessFlags::LIBRARY);
        conductor.recorder.settle(thread);
    }
}

#[unsafe(naked)]
unsafe extern "C" fn read_range() {
    std::arch::naked_asm!("mov rdx, [rsp]", "jmp {body}", body = sym read_range_pc)
}

#[unsafe(naked)]
unsafe extern "C" fn write_range() {
    std::arch::naked_asm!("mov rdx, [rsp]", "jmp {body}", body = sym write_range_pc)
}

extern "C" fn read_range_pc(addr: u64, size: u64, pc: u64) {
    range(addr, size, false, 0, pc);
}

extern "C" fn write_range_pc(addr: u64, size: u64, pc: u64) {
    range(addr, size, true, 0, pc);
}

pub const HOOKS: &[Hook] = &[
    ("__tsan_read_range", read_range as *const ()),
    ("__tsan_write_range", write_range as *const ()),
    ("__tsan_read_range_pc", read_range_pc as *const ()),
    ("__tsan_write_range_pc", write_range_pc as *const ()),
    ("__tsan_memcpy", super::strings::memcpy::memcpy as *const ()),
    ("__tsan_memmove", super::strings::memmove::memmove as *const ()),
    ("__tsan_memset", super::strings::memset::memset as *const ()),
];
