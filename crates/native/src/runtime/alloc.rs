//! The runtime's own memory: size classes over mmapped slabs. The target's malloc must not be entered from a hook.

use reweave_conductor::spin::Spin;
use reweave_conductor::sys;
use std::alloc::{GlobalAlloc, Layout};
use std::ptr::null_mut;

const SLAB: usize = 1 << 20;
/// Classes are powers of two from 16 bytes to 128 KiB; larger blocks are mapped on their own.
const CLASSES: usize = 14;

struct Slabs {
    free: [*mut u8; CLASSES],
    next: *mut u8,
    left: usize,
}

// SAFETY: its pointers are to memory that belongs to no thread.
unsafe impl Send for Slabs {}

struct Allocator(Spin<Slabs>);

#[global_allocator]
static ALLOCATOR: Allocator = Allocator(Spin::new(Slabs { free: [null_mut(); CLASSES], next: null_mut(), left: 0 }));

/// Fresh zeroed pages, without touching libc. Null if there are none.
pub fn map(bytes: usize) -> *mut u8 {
    const PROT_READ_WRITE: usize = 3;
    const MAP_PRIVATE_ANONYMOUS_NORESERVE: usize = 0x4022;
    // SAFETY: an anonymous mapping.
    let at = unsafe { sys::syscall(9, [0, bytes, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS_NORESERVE, usize::MAX, 0]) };
    if (-4095..0).contains(&at) { null_mut() } else { at as *mut u8 }
}

pub fn unmap(at: *mut u8, bytes: usize) {
    // SAFETY: the caller gives a mapping of ours.
    unsafe { sys::syscall(11, [at as usize, bytes, 0, 0, 0, 0]) };
}

fn class(size: usize) -> usize {
    (size.max(16).next_power_of_two().trailing_zeros() - 4) as usize
}

// SAFETY: blocks are disjoint, large enough, and aligned: classes are powers of two inside page-aligned slabs.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let size = layout.size().max(layout.align());
        let class = class(size);
        if class >= CLASSES {
            return map(size);
        }
        let bytes = 16 << class;
        let mut slabs = self.0.lock();
        let block = slabs.free[class];
        if block.is_null() {
            // Aligned to its own size, so that alignments up to a page hold.
            let skip = (slabs.next as usize).wrapping_neg() & (bytes.min(4096) - 1);
            if slabs.left < bytes + skip {
                slabs.next = map(SLAB);
                slabs.left = if slabs.next.is_null() { 0 } else { SLAB };
            } else {
                // SAFETY: inside the slab.
                slabs.next = unsafe { slabs.next.add(skip) };
                slabs.left -= skip;
            }
            let block = slabs.next;
            if !block.is_null() {
                // SAFETY: inside the slab.
                slabs.next = unsafe { block.add(bytes) };
                slabs.left -= bytes;
            }
            block
        } else {
            // SAFETY: a free block holds the next one's address.
            slabs.free[class] = unsafe { *block.cast::<*mut u8>() };
            block
        }
    }

    /// Pages that are mapped on their own are zero: of a large table only what is used is ever touched.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by our own contract.
        let block = unsafe { self.alloc(layout) };
        if !block.is_null() && class(layout.size().max(layout.align())) < CLASSES {
            // SAFETY: just allocated with this size.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let size = layout.size().max(layout.align());
        let class = class(size);
        if class >= CLASSES {
            return unmap(block, size);
        }
        let mut slabs = self.0.lock();
        // SAFETY: the block is ours and large enough for a pointer.
        unsafe { *block.cast::<*mut u8>() = slabs.free[class] };
        slabs.free[class] = block;
    }
}
