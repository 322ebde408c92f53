//! `memcpy`, `memmove`, `memset` and `free` as the program calls them: gcc puts no hooks around them.
//!
//! The first three are replaced for the whole process, so they do their work by themselves and need nothing: string
//! instructions, which no compiler turns back into a call. Only calls from modules with hooks count.

use std::arch::asm;
use std::arch::x86_64::__m128i;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::Call;
use super::local::{access, is_shared};
use crate::event::{Event, Place};

/// Code of modules with hooks: where it begins and ends.
static CODE: [(AtomicU64, AtomicU64); 16] = [const { (AtomicU64::new(0), AtomicU64::new(0)) }; 16];
static MODULES: AtomicUsize = AtomicUsize::new(0);

/// The module that has this address has hooks.
pub fn watch_module(inside: u64) {
    unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, inside: *mut libc::c_void) -> i32 {
        // SAFETY: the loader's list; `inside` is ours.
        let (info, inside) = unsafe { (&*info, *inside.cast::<u64>()) };
        let headers = (0..usize::from(info.dlpi_phnum))
            // SAFETY: the module has that many.
            .map(|number| unsafe { &*info.dlpi_phdr.add(number) })
            .filter(|header| header.p_type == libc::PT_LOAD)
            .map(|header| (info.dlpi_addr + header.p_vaddr, header.p_memsz));
        if !headers.clone().any(|(start, size)| inside.wrapping_sub(start) < size) {
            return 0;
        }
        let (lo, hi) = headers.fold((u64::MAX, 0), |(lo, hi), (start, size)| (lo.min(start), hi.max(start + size)));
        if let Some(free) = CODE.get(MODULES.fetch_add(1, Ordering::Relaxed)) {
            free.0.store(lo, Ordering::Relaxed);
            free.1.store(hi, Ordering::Release);
        }
        1
    }
    let mut inside = inside;
    // SAFETY: the callback only reads the list.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut inside).cast()) };
}

pub fn is_watched(pc: u64) -> bool {
    let known = MODULES.load(Ordering::Relaxed).min(CODE.len());
    CODE[..known].iter().any(|(lo, hi)| pc < hi.load(Ordering::Acquire) && lo.load(Ordering::Relaxed) <= pc)
}

pub fn note(pc: u64, address: u64, len: usize, write: bool) {
    if len > 0 {
        access(pc, address, len.min(1 << 30) as u32, write);
    }
}

/// Two halves that overlap where there is less: everything is read before anything is written.
macro_rules! halves {
    ($of:ty, $to:ident, $from:ident, $len:ident) => {{
        let (from, to) = ($from.cast::<$of>(), $to.cast::<$of>());
        let back = $len - size_of::<$of>();
        let (first, last) = (from.read_unaligned(), from.byte_add(back).read_unaligned());
        to.write_unaligned(first);
        to.byte_add(back).write_unaligned(last);
    }};
}

/// Copies, upwards or downwards. The string instructions take as long to begin as a short copy takes.
#[inline(always)]
unsafe fn copy(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the program's own memory; the direction flag is put back.
    unsafe {
        match len {
            0 => {}
            1 => to.write(from.read()),
            2..4 => halves!(u16, to, from, len),
            4..8 => halves!(u32, to, from, len),
            8..16 => halves!(u64, to, from, len),
            16..=32 => halves!(__m128i, to, from, len),
            33..=64 => halves!([__m128i; 2], to, from, len),
            65..=128 => halves!([__m128i; 4], to, from, len),
            _ => copy_long(to, from, len),
        }
    }
}

unsafe fn copy_long(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the program's own memory; the direction flag is put back.
    unsafe {
        if (to as usize).wrapping_sub(from as usize) >= len {
            asm!("rep movsb", inout("rdi") to => _, inout("rsi") from => _, inout("rcx") len => _,
                options(nostack, preserves_flags));
        } else {
            asm!("std", "rep movsb", "cld", inout("rdi") to.wrapping_add(len).wrapping_sub(1) => _,
                inout("rsi") from.wrapping_add(len).wrapping_sub(1) => _, inout("rcx") len => _, options(nostack));
        }
    }
}

/// # Safety
/// As libc has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    let pc = caller!();
    if is_watched(pc) {
        note(pc, from as u64, len, false);
        note(pc, to as u64, len, true);
    }
    // SAFETY: as the caller says.
    unsafe { copy(to, from, len) };
    to
}

/// # Safety
/// As libc has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    let pc = caller!();
    if is_watched(pc) {
        note(pc, from as u64, len, false);
        note(pc, to as u64, len, true);
    }
    // SAFETY: as the caller says.
    unsafe { copy(to, from, len) };
    to
}

/// # Safety
/// As libc has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memset(to: *mut u8, byte: i32, len: usize) -> *mut u8 {
    let pc = caller!();
    if is_watched(pc) {
        note(pc, to as u64, len, true);
    }
    // SAFETY: as the caller says.
    unsafe {
        let bytes = u64::from(byte as u8) * 0x0101_0101_0101_0101;
        if (8..=16).contains(&len) {
            to.cast::<u64>().write_unaligned(bytes);
            to.add(len - 8).cast::<u64>().write_unaligned(bytes);
            return to;
        }
        asm!("rep stosb", inout("rdi") to => _, in("al") byte as u8, inout("rcx") len => _,
            options(nostack, preserves_flags));
    }
    to
}

unsafe extern "C" {
    fn __libc_free(block: *mut u8);
}

/// The `free` behind ours, once the library is loaded; the program may have brought another one than libc's.
static FREE: AtomicU64 = AtomicU64::new(0);

#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = {
    extern "C" fn loaded() {
        // SAFETY: a zero-terminated name.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, c"free".as_ptr()) };
        FREE.store(found as u64, Ordering::Release);
    }
    loaded
};

/// # Safety
/// As libc has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(block: *mut u8) {
    let pc = caller!();
    if is_watched(pc) {
        gone(pc, block);
    }
    let real = FREE.load(Ordering::Acquire);
    // SAFETY: the program's own call; the address is that of a function of this type.
    unsafe {
        if real == 0 {
            __libc_free(block);
        } else {
            std::mem::transmute::<u64, unsafe extern "C" fn(*mut u8)>(real)(block);
        }
    }
}

/// Memory that others reach, or that an operation uses, is given back (R12).
fn gone(pc: u64, block: *mut u8) {
    if block.is_null() {
        return;
    }
    // SAFETY: a block that was allocated.
    let len = unsafe { libc::malloc_usable_size(block.cast()) } as u64;
    super::steer::gone(block as u64, len);
    if is_shared(block as u64, len)
        && let Some(call) = Call::enter(pc)
    {
        call.log(Event::Gone { place: Place::Address(block as u64), len });
    }
}
