//! The hooks of a thread that runs free. They come before those of the same names for threads that take turns.

use super::super::register::Hook;
use super::super::{conductor, enter, ranges, tls};
use super::{Buffer, MAX_RANGE};
use crate::runtime::load::load;
use reweave_model::AccessFlags;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

/// What a hook finds.
enum Way {
    /// Into this buffer.
    Into(&'static Buffer),
    /// Nothing is recorded: the thread is in the runtime.
    Nowhere,
    /// The thread must take the token first.
    ByTheToken,
}

/// Where a record of the calling thread goes.
#[inline(always)]
fn way() -> Way {
    let Some(row) = NonNull::new(tls::thread()) else { return Way::ByTheToken };
    // SAFETY: the row of this very thread; words are touched, and its buffer, which is its own and stays until it ends.
    unsafe {
        let thread = row.as_ref();
        if thread.own.inside.get() != 0 {
            return Way::Nowhere;
        }
        match thread.row.buffer.load(Ordering::Relaxed).as_ref() {
            Some(buffer) if !buffer.is_full() && thread.interrupts.is_empty() => Way::Into(buffer),
            _ => Way::ByTheToken,
        }
    }
}

/// Takes the token and gives it back: what was buffered is recorded, signals are delivered, an unknown thread gets a
/// buffer. `None`: the thread is not recorded.
#[cold]
#[inline(never)]
fn make_way() -> Option<&'static Buffer> {
    // SAFETY: the row of this very thread and its buffer, as in `way`.
    let own = || unsafe { tls::thread().as_ref()?.row.buffer.load(Ordering::Relaxed).as_ref() };
    let moment = own().map(|buffer| buffer.seen.moment());
    drop(enter()?);
    let buffer = own()?;
    if let Some(moment) = moment {
        buffer.seen.go_on(moment);
    }
    Some(buffer)
}

/// The buffer for an access, if it is recorded at all.
#[inline(always)]
fn buffer() -> Option<&'static Buffer> {
    match way() {
        Way::Into(buffer) => Some(buffer),
        Way::Nowhere => None,
        Way::ByTheToken => make_way(),
    }
}

/// Whether the program or the user asked for the accesses of this moment to be left out.
#[inline(always)]
fn is_left_out(buffer: &Buffer, write: bool) -> bool {
    // SAFETY: whoever has a buffer has a row; words are touched.
    let thread = unsafe { &*tls::thread() };
    if buffer.left_out.get() == 0 && thread.own.gate() == thread.id {
        return false;
    }
    let left_out = buffer.left_out.get() != 0 || thread.own.ignores(write);
    if left_out {
        // The last write's value is still its own.
        buffer.settle();
    }
    left_out
}

#[inline(always)]
fn access<const WRITE: bool, const WATCH: bool>(addr: u64, size: u32, flags: u8, pc: u64) {
    let Some(buffer) = buffer() else { return };
    if is_left_out(buffer, WRITE) {
        return;
    }
    if WATCH && buffer.seen.repeats::<WRITE>(addr, size, pc) {
        // A write before it keeps what was there: nobody asks for values here.
        return buffer.pending.store(std::ptr::null_mut(), Ordering::Relaxed);
    }
    buffer.put::<WRITE>(addr, size, flags, pc);
}

fn range<const WRITE: bool>(addr: u64, size: u64, flags: u8, pc: u64) {
    if size == 0 {
        return;
    }
    let Some(buffer) = buffer() else { return };
    if !is_left_out(buffer, WRITE) {
        let size = if size > MAX_RANGE { ranges::present(addr, size) } else { size };
        buffer.put_range::<WRITE>(addr, size as u32, flags, pc);
    }
}

#[unsafe(naked)]
unsafe extern "C" fn func_entry() {
    std::arch::naked_asm!("lea rsi, [rsp + 8]", "mov rdx, [rsp]", "jmp {body}", body = sym entered)
}

extern "C" fn entered(caller: u64, sp: u64, pc: u64) {
    let Some(buffer) = buffer() else { return };
    // The last write's slot may be reused by calls that no hook sees.
    buffer.settle();
    leave_out(buffer, sp, pc);
    buffer.enter(caller, sp);
}

extern "C" fn func_exit() {
    let Some(buffer) = buffer() else { return };
    buffer.settle();
    buffer.left_out.set(buffer.left_out.get().saturating_sub(1));
    buffer.leave();
}

/// Counts functions from one on that is to be left out.
#[inline(always)]
fn leave_out(buffer: &Buffer, sp: u64, pc: u64) {
    let Some(header) = conductor().map(|conductor| conductor.region().header()) else { return };
    if header.ignored_count == 0 {
        return;
    }
    let inner = buffer.left_out.get();
    // Frames below the current stack pointer were left without an exit.
    if inner > 0 && buffer.left_out_sp.get() >= sp {
        return buffer.left_out.set(inner + 1);
    }
    let ignored = &header.ignored[..header.ignored_count as usize];
    let begins = ignored.iter().any(|[begin, end]| (*begin..*end).contains(&pc));
    buffer.left_out.set(begins.into());
    buffer.left_out_sp.set(sp);
}

/// `pc`: the hook's return address, in the register of its second argument.
macro_rules! stub {
    ($body:path) => {
        std::arch::naked_asm!("mov rsi, [rsp]", "jmp {body}", body = sym $body)
    };
}

macro_rules! hooks {
    ($($name:ident $size:literal $flags:expr, $read:literal $write:literal;)*) => {
        $(
            mod $name {
                use super::*;
                #[unsafe(naked)]
                pub unsafe extern "C" fn read() { stub!(read_body) }
                #[unsafe(naked)]
                pub unsafe extern "C" fn write() { stub!(write_body) }
                #[unsafe(naked)]
                pub unsafe extern "C" fn new_read() { stub!(new_read_body) }
                #[unsafe(naked)]
                pub unsafe extern "C" fn new_write() { stub!(new_write_body) }
                #[unsafe(naked)]
                pub unsafe extern "C" fn update() { stub!(update_body) }
                pub extern "C" fn read_body(addr: u64, pc: u64) {
                    if $size == 16 { range::<false>(addr, 16, $flags, pc) } else { access::<false, false>(addr, $size, $flags, pc) }
                }
                pub extern "C" fn write_body(addr: u64, pc: u64) {
                    if $size == 16 { range::<true>(addr, 16, $flags, pc) } else { access::<true, false>(addr, $size, $flags, pc) }
                }
                pub extern "C" fn new_read_body(addr: u64, pc: u64) {
                    if $size == 16 { range::<false>(addr, 16, $flags, pc) } else { access::<false, true>(addr, $size, $flags, pc) }
                }
                pub extern "C" fn new_write_body(addr: u64, pc: u64) {
                    if $size == 16 { range::<true>(addr, 16, $flags, pc) } else { access::<true, true>(addr, $size, $flags, pc) }
                }
                /// A read and the write that follows it (`g++`).
                extern "C" fn update_body(addr: u64, pc: u64) {
                    read_body(addr, pc);
                    write_body(addr, pc);
                }
            }
        )*
        /// Everything.
        pub const HOOKS: &[Hook] = &[
            ("__tsan_func_entry", func_entry as *const ()),
            ("__tsan_func_exit", func_exit as *const ()),
            ("__tsan_read_range", read_range as *const ()),
            ("__tsan_write_range", write_range as *const ()),
            ("__tsan_read_range_pc", read_range_pc as *const ()),
            ("__tsan_write_range_pc", write_range_pc as *const ()),
            ("__tsan_vptr_update", vptr_update as *const ()),
            ("__tsan_vptr_read", vptr_read as *const ()),
            $(
                (concat!("__tsan_", $read), $name::read as *const ()),
                (concat!("__tsan_", $write), $name::write as *const ()),
                (concat!("__tsan_unaligned_", $read), $name::read as *const ()),
                (concat!("__tsan_unaligned_", $write), $name::write as *const ()),
                (concat!("__tsan_", $read, "_pc"), $name::read_body as *const ()),
                (concat!("__tsan_", $write, "_pc"), $name::write_body as *const ()),
                (concat!("__tsan_read_", $write), $name::update as *const ()),
                (concat!("__tsan_unaligned_read_", $write), $name::update as *const ()),
            )*
        ];
        /// What only repeats is left out.
        pub const WATCHED: &[Hook] = &[
            ("__tsan_func_entry", func_entry as *const ()),
            ("__tsan_func_exit", func_exit as *const ()),
            ("__tsan_read_range", read_range as *const ()),
            ("__tsan_write_range", write_range as *const ()),
            ("__tsan_read_range_pc", read_range_pc as *const ()),
            ("__tsan_write_range_pc", write_range_pc as *const ()),
            ("__tsan_vptr_update", vptr_update as *const ()),
            ("__tsan_vptr_read", vptr_read as *const ()),
            $(
                (concat!("__tsan_", $read), $name::new_read as *const ()),
                (concat!("__tsan_", $write), $name::new_write as *const ()),
                (concat!("__tsan_unaligned_", $read), $name::new_read as *const ()),
                (concat!("__tsan_unaligned_", $write), $name::new_write as *const ()),
                (concat!("__tsan_", $read, "_pc"), $name::new_read_body as *const ()),
                (concat!("__tsan_", $write, "_pc"), $name::new_write_body as *const ()),
                (concat!("__tsan_read_", $write), $name::update as *const ()),
                (concat!("__tsan_unaligned_read_", $write), $name::update as *const ()),
            )*
        ];
    };
}

const NONE: u8 = 0;
const VOLATILE: u8 = AccessFlags::VOLATILE;

hooks! {
    plain1 1 NONE, "read1" "write1";
    plain2 2 NONE, "read2" "write2";
    plain4 4 NONE, "read4" "write4";
    plain8 8 NONE, "read8" "write8";
    plain16 16 NONE, "read16" "write16";
    volatile1 1 VOLATILE, "volatile_read1" "volatile_write1";
    volatile2 2 VOLATILE, "volatile_read2" "volatile_write2";
    volatile4 4 VOLATILE, "volatile_read4" "volatile_write4";
    volatile8 8 VOLATILE, "volatile_read8" "volatile_write8";
    volatile16 16 VOLATILE, "volatile_read16" "volatile_write16";
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
    range::<false>(addr, size, NONE, pc);
}

extern "C" fn write_range_pc(addr: u64, size: u64, pc: u64) {
    range::<true>(addr, size, NONE, pc);
}

#[unsafe(naked)]
unsafe extern "C" fn vptr_update() {
    std::arch::naked_asm!("mov rdx, [rsp]", "jmp {body}", body = sym vptr_updated)
}

/// A write only if it changes the pointer: constructors of a base and of the derived class both store.
extern "C" fn vptr_updated(addr: u64, new: u64, pc: u64) {
    if load(addr, 8) != new {
        access::<true, false>(addr, 8, AccessFlags::VPTR, pc);
    }
}

#[unsafe(naked)]
unsafe extern "C" fn vptr_read() {
    stub!(vptr_is_read)
}

extern "C" fn vptr_is_read(addr: u64, pc: u64) {
    access::<false, false>(addr, 8, AccessFlags::VPTR, pc);
}
