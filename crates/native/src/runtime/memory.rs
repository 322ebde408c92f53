//! The malloc family and mappings: a reused address is another location, and `free` writes the whole block.

use super::{Token, enter, mappings, tls};
use libc::{c_int, c_void, off_t, size_t};
use reweave_conductor::objects::AddressMap;
use reweave_conductor::policy::Next;
use reweave_guest::Guarded;
use reweave_model::{Addr, Misuse, ObjectId, Op};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

// glibc's own entry points: using them needs no look-up, and the look-up may itself allocate.
unsafe extern "C" {
    fn __libc_malloc(size: size_t) -> *mut c_void;
    fn __libc_calloc(count: size_t, size: size_t) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: size_t) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
    fn __libc_memalign(align: size_t, size: size_t) -> *mut c_void;
}

/// Sizes of the blocks that were allocated under control. Touched by the holder of the token only.
// SAFETY: for the holder of the token of the one conductor.
static BLOCKS: Guarded<Option<AddressMap<u64>>> = unsafe { Guarded::new(None) };

/// Blocks that went back under control and were not given out again since, as far as a table without chains holds them:
/// one that is overwritten is forgotten, so that a second free may be missed but none is made up. Whoever allocates
/// takes them out, under control or not, hence the atomics.
static GONE: [AtomicU64; GONE_SLOTS] = [const { AtomicU64::new(0) }; GONE_SLOTS];
const GONE_SLOTS: usize = 1 << 15;

fn gone(block: *mut c_void) -> &'static AtomicU64 {
    // Blocks are 16 bytes apart.
    &GONE[(block as usize >> 4).wrapping_mul(0x9e37_79b9) % GONE_SLOTS]
}

/// Passes a fresh block on.
fn given(block: *mut c_void) -> *mut c_void {
    let slot = gone(block);
    if slot.load(Ordering::Relaxed) == block as u64 {
        slot.store(0, Ordering::Relaxed);
    }
    block
}

fn allocated(token: &mut Token<'_>, pc: u64, block: *mut c_void, size: usize) {
    // `operator new` allocates for the program.
    let pc = tls::allocation().unwrap_or(pc);
    if !block.is_null() {
        BLOCKS.made(token).insert(block as u64, size as u64);
        token.step(pc, Op::Alloc { addr: Addr(block as u64), size: size as u64 });
    }
}

/// The block goes back; returns its size. Recorded before libc can give it to anybody else.
fn freed(token: &mut Token<'_>, pc: u64, block: *mut c_void) -> u64 {
    let slot = gone(block);
    let Some(size) = BLOCKS.made(token).remove(&(block as u64)) else {
        if slot.load(Ordering::Relaxed) == block as u64 {
            let object = ObjectId(block as u64);
            token.step(pc, Op::Misused { what: Misuse::DoubleFree, object });
        }
        return 0;
    };
    slot.store(block as u64, Ordering::Relaxed);
    token.step(pc, Op::Free { addr: Addr(block as u64), size });
    size
}

interpose! {
    fn malloc(size: size_t; pc) -> *mut c_void {
        match enter() {
            Some(mut inside) => {
                inside.point();
                let block = given(__libc_malloc(size));
                allocated(&mut inside, pc, block, size);
                block
            }
            None => given(__libc_malloc(size)),
        }
    }

    /// All blocks are glibc's, also in a program that is linked with another allocator, which would look for them among
    /// its own.
    fn malloc_usable_size(block: *mut c_void; pc) -> size_t {
        static CELL: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());
        let found = super::super::real::find_in_libc(&CELL, c"malloc_usable_size");
        if found.is_null() {
            return 0;
        }
        std::mem::transmute::<*mut (), unsafe extern "C" fn(*mut c_void) -> size_t>(found)(block)
    }

    fn calloc(count: size_t, size: size_t; pc) -> *mut c_void {
        match enter() {
            Some(mut inside) => {
                inside.point();
                let block = given(__libc_calloc(count, size));
                let total = count.saturating_mul(size);
                allocated(&mut inside, pc, block, total);
                if !block.is_null() {
                    super::super::ranges::wrote(&mut inside, block.cast(), total.min(u32::MAX as usize), pc);
                }
                block
            }
            None => given(__libc_calloc(count, size)),
        }
    }

    fn realloc(block: *mut c_void, size: size_t; pc) -> *mut c_void {
        match enter() {
            Some(mut inside) => {
                inside.point();
                let old = BLOCKS.made(&mut inside).get(&(block as u64)).copied().unwrap_or(0);
                let kept = old.min(size as u64) as usize;
                if kept > 0 {
                    super::super::ranges::reads(&mut inside, block.cast(), kept, pc);
                }
                if !block.is_null() {
                    freed(&mut inside, pc, block);
                }
                let new = given(__libc_realloc(block, size));
                if new.is_null() && size > 0 {
                    if old > 0 {
                        allocated(&mut inside, pc, block, old as usize);
                    }
                } else {
                    // What stays in its place stays what it is.
                    if new != block {
                        inside.objects().forget_within(block as u64, old);
                    }
                    allocated(&mut inside, pc, new, size);
                    super::super::ranges::wrote(&mut inside, new.cast(), kept, pc);
                }
                new
            }
            None => given(__libc_realloc(block, size)),
        }
    }

    fn free(block: *mut c_void; pc) {
        if block.is_null() {
            return;
        }
        if let Some(mut inside) = enter() {
            inside.announce(Next::access(pc, block as u64, 1, true));
            inside.point();
            let size = freed(&mut inside, pc, block);
            inside.objects().forget_within(block as u64, size);
            // libc may write into the block or give its pages back.
            inside.fill_pending_write();
        }
        __libc_free(block);
    }

    fn memalign(align: size_t, size: size_t; pc) -> *mut c_void {
        match enter() {
            Some(mut inside) => {
                inside.point();
                let block = given(__libc_memalign(align, size));
                allocated(&mut inside, pc, block, size);
                block
            }
            None => given(__libc_memalign(align, size)),
        }
    }

    fn aligned_alloc(align: size_t, size: size_t; pc) -> *mut c_void {
        memalign::body(align, size, pc)
    }

    fn posix_memalign(out: *mut *mut c_void, align: size_t, size: size_t; pc) -> c_int {
        if !align.is_power_of_two() || !align.is_multiple_of(size_of::<*mut c_void>()) {
            return libc::EINVAL;
        }
        let block = memalign::body(align, size, pc);
        if block.is_null() && size > 0 {
            return libc::ENOMEM;
        }
        *out = block;
        if let Some(mut inside) = enter() {
            super::super::ranges::wrote(&mut inside, out.cast(), size_of::<*mut c_void>(), pc);
        }
        0
    }

    fn valloc(size: size_t; pc) -> *mut c_void {
        memalign::body(4096, size, pc)
    }

    fn munmap(at: *mut c_void, size: size_t; pc) -> c_int {
        let unmap = real!(munmap: unsafe extern "C-unwind" fn(*mut c_void, size_t) -> c_int);
        match enter() {
            Some(mut inside) => {
                inside.point();
                if BLOCKS.made(&mut inside).remove(&(at as u64)).is_some() {
                    inside.step(pc, Op::Free { addr: Addr(at as u64), size: size as u64 });
                }
                let status = unmap(at, size);
                if status == 0 {
                    inside.objects().forget_within(at as u64, size as u64);
                    mappings::unmapped(&mut inside, at, size);
                }
                status
            }
            None => unmap(at, size),
        }
    }
}

/// `operator new` in all its forms: it allocates as ever, and the program's own call is where.
macro_rules! operators {
    ($(fn $name:ident($($arg:ident),*);)*) => {
        interpose! {$(
            fn $name($($arg: usize),*; pc) -> *mut c_void {
                let call = real!($name: unsafe extern "C-unwind" fn($(operators!(@word $arg)),*) -> *mut c_void);
                tls::set_allocation(pc);
                let block = call($($arg),*);
                tls::set_allocation(0);
                block
            }
        )*}
    };
    (@word $arg:ident) => { usize };
}

operators! {
    fn _Znwm(size);
    fn _Znam(size);
    fn _ZnwmRKSt9nothrow_t(size, tag);
    fn _ZnamRKSt9nothrow_t(size, tag);
    fn _ZnwmSt11align_val_t(size, align);
    fn _ZnamSt11align_val_t(size, align);
    fn _ZnwmSt11align_val_tRKSt9nothrow_t(size, align, tag);
    fn _ZnamSt11align_val_tRKSt9nothrow_t(size, align, tag);
}

type Map = unsafe extern "C-unwind" fn(*mut c_void, size_t, c_int, c_int, c_int, off_t) -> *mut c_void;

/// # Safety
/// As for libc's mmap.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap() {
    super::tls::pc_in_tls!(mmap_body)
}

/// # Safety
/// As for libc's mmap.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap64() {
    super::tls::pc_in_tls!(mmap_body)
}

unsafe extern "C-unwind" fn mmap_body(
    at: *mut c_void,
    size: size_t,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: off_t,
) -> *mut c_void {
    let pc = tls::caller_pc();
    let map = real!(mmap: Map);
    // SAFETY: the program's own call.
    let Some(mut inside) = enter() else { return unsafe { map(at, size, protection, flags, file, offset) } };
    inside.point();
    // SAFETY: the program's own call.
    let mapped = unsafe { map(at, size, protection, flags, file, offset) };
    if mapped != libc::MAP_FAILED {
        allocated(&mut inside, pc, mapped, size);
        mappings::mapped(&mut inside, mapped, size, flags, file, offset);
    }
    mapped
}
