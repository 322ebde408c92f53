//! Files that are mapped, and mapped again: the same bytes at two addresses are one location, see
//! [`reweave_conductor::aliases`].

use super::{Token, system};
use libc::{c_int, c_void, off_t, stat};
use reweave_guest::Guarded;
use std::mem::zeroed;

/// A file's bytes in memory.
#[derive(Clone, Copy)]
struct Mapping {
    device: u64,
    inode: u64,
    offset: u64,
    size: u64,
    addr: u64,
}

impl Mapping {
    /// What both hold of one file: where it begins in each of them, and how long it is.
    fn shares(&self, other: &Self) -> Option<(u64, u64, u64)> {
        if (self.device, self.inode) != (other.device, other.inode) {
            return None;
        }
        let begin = self.offset.max(other.offset);
        let end = (self.offset + self.size).min(other.offset + other.size);
        (begin < end).then(|| (self.addr + begin - self.offset, other.addr + begin - other.offset, end - begin))
    }
}

/// Shared mappings of files, the first ones of what they hold. Touched by the holder of the token only.
// SAFETY: for the holder of the token of the one conductor.
static FIRST: Guarded<Vec<Mapping>> = unsafe { Guarded::new(Vec::new()) };

/// The program has mapped something.
pub fn mapped(token: &mut Token<'_>, addr: *mut c_void, size: usize, flags: c_int, file: c_int, offset: off_t) {
    // In the place of something else.
    unmapped(token, addr, size);
    let shared = matches!(flags & libc::MAP_TYPE, libc::MAP_SHARED | libc::MAP_SHARED_VALIDATE);
    if !shared || flags & libc::MAP_ANONYMOUS != 0 || file < 0 {
        return;
    }
    // SAFETY: the kernel fills the struct.
    let status = unsafe {
        let mut status: stat = zeroed();
        if system::raw(libc::SYS_fstat as usize, [file as usize, &raw mut status as usize, 0, 0, 0, 0]) != 0 {
            return;
        }
        status
    };
    // What a device maps need not be the same memory.
    if status.st_mode & libc::S_IFMT != libc::S_IFREG {
        return;
    }
    let new = Mapping {
        device: status.st_dev,
        inode: status.st_ino,
        offset: offset.max(0) as u64,
        size: size as u64,
        addr: addr as u64,
    };
    let shared: Vec<_> = FIRST.get(token).iter().filter_map(|first| new.shares(first)).collect();
    if shared.is_empty() {
        FIRST.get(token).push(new);
    }
    for (from, to, size) in shared {
        let (recorder, me) = token.recorder();
        recorder.alias(me, from, size, to);
    }
}

/// The program has given memory back, or is about to map something in its place.
pub fn unmapped(token: &mut Token<'_>, addr: *mut c_void, size: usize) {
    let (addr, size) = (addr as u64, size as u64);
    if !FIRST.get(token).is_empty() {
        FIRST.get(token).retain(|first| addr.saturating_add(size) <= first.addr || first.addr + first.size <= addr);
        let (recorder, me) = token.recorder();
        recorder.forget_aliases(me, addr, size);
    }
}

/// The child of a fork has a trace of its own, in which every address stands for itself.
///
/// # Safety
/// The caller is alone.
pub unsafe fn forget() {
    // SAFETY: by the contract.
    unsafe { FIRST.get_alone() }.clear();
}
