//! Accesses to ranges: struct copies, mem* and str* functions, and libc calls that touch the caller's memory.

use super::copies::{follows_write, is_copying};
use super::register::Hook;
use super::{Token, active, hold, is_inside, system, threads};
use reweave_conductor::policy::Next;
use reweave_conductor::recorder::Range;
use reweave_model::AccessFlags;

/// Records a range access by compiled code; a write happens right after the hook.
pub fn range(addr: u64, size: u64, write: bool, flags: u8, pc: u64) {
    if size == 0 || !active() {
        return;
    }
    if is_inside() {
        return;
    }
    // SAFETY: the thread is not inside, so no other token of it is in use.
    let Some(mut token) = (unsafe { hold() }).or_else(threads::adopt) else { return };
    token.me().own.inside.set(1);
    one(&mut token, Range { addr, size: present(addr, size) as u32, write, flags }, pc);
    token.me().own.inside.set(0);
}

/// Ranges up to this size are taken for what they are.
const ORDINARY: u64 = 1 << 20;
const PAGE: u64 = 4096;

/// How much of a range is there, 4 GiB at most. A length that was read from freed memory may say anything: the access
/// ends where memory does, and nothing but that is recorded. Costs a system call for large ranges, some dozens for
/// those that are cut.
pub fn present(addr: u64, size: u64) -> u64 {
    const MSYNC: usize = 26;
    let start = addr & !(PAGE - 1);
    let is_mapped = |size: u64| {
        let length = (addr - start + size) as usize;
        // SAFETY: `MS_ASYNC` changes nothing, and fails where nothing is mapped.
        unsafe { system::raw(MSYNC, [start as usize, length, libc::MS_ASYNC as usize, 0, 0, 0]) == 0 }
    };
    let size = size.min(u32::MAX.into()).min(u64::MAX - addr);
    if size <= ORDINARY || is_mapped(size) {
        return size;
    }
    // invariant: as much as `there` is mapped, if it is more than nothing; as much as `gone` is not
    let (mut there, mut gone) = (0, size);
    while gone - there > PAGE {
        let middle = there + (gone - there) / 2;
        if is_mapped(middle) {
            there = middle;
        } else {
            gone = middle;
        }
    }
    // The last page in full.
    let end = (addr + gone - 1) & !(PAGE - 1);
    end.saturating_sub(addr).clamp(1, size)
}

/// Records an access after the scheduler was asked.
pub fn record(token: &mut Token<'_>, range: Range, pc: u64) {
    let (recorder, me) = token.recorder();
    let keep = !range.write && follows_write(recorder, me, range.size);
    recorder.range(me, pc, range, keep);
}

/// A step of a thread that is inside the runtime and holds the token.
fn one(token: &mut Token<'_>, range: Range, pc: u64) {
    let Range { addr, size, write, .. } = range;
    let (recorder, me) = token.recorder();
    if !write && is_copying(recorder, me, addr, size) {
        token.go_on();
    }
    token.announce(Next::access(pc, addr, size.into(), write));
    token.point();
    if token.me().own.ignores(write) {
        return token.fill_pending_write();
    }
    token.count();
    record(token, range, pc);
}

/// A range that a libc function accesses on behalf of the program.
pub fn library(addr: *const u8, size: u32, write: bool) -> Range {
    Range { addr: addr as u64, size, write, flags: AccessFlags::LIBRARY }
}

/// A libc function is about to read the caller's memory.
pub fn reads(token: &mut Token<'_>, addr: *const u8, size: usize, pc: u64) {
    if size > 0 && !addr.is_null() {
        let size = present(addr as u64, size as u64) as u32;
        one(token, library(addr, size, false), pc);
    }
}

/// A libc function writes the caller's memory. Call it before the write where the scheduling decision must come first;
/// the bytes are taken when the thread next comes by.
pub fn writes(token: &mut Token<'_>, addr: *const u8, size: usize, pc: u64) {
    if size > 0 && !addr.is_null() {
        let size = present(addr as u64, size as u64) as u32;
        one(token, library(addr, size, true), pc);
    }
}

/// A libc function has written the caller's memory: nothing may come between, so the scheduler is not asked.
pub fn wrote(token: &mut Token<'_>, addr: *const u8, size: usize, pc: u64) {
    if size > 0 && !addr.is_null() && !token.me().own.ignores(true) {
        token.keep();
        token.count();
        record(token, library(addr, size as u32, true), pc);
        token.fill_pending_write();
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
