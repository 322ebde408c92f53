//! Threads that run free (see [`reweave_conductor::free`]): what a thread accesses between two of its synchronizations
//! goes into a buffer of its own, without the token, and is recorded when the thread next has it.
//!
//! Invariants: a buffer is written by its thread alone, outside of the runtime, and emptied by its thread while it holds
//! the token. Whoever ends the process looks into the buffers of all others, and closes them: what their threads do from
//! then on is not recorded, and what they took back while it looked shows in a count. A write's value is filled in at
//! the thread's next hook, as elsewhere; until then its record is not taken.
//!
//! What a thread accessed since its last synchronization, one buffer at most, is lost if the process is killed.

mod hooks;
mod seen;

pub use hooks::{HOOKS, WATCHED};

use super::load::load;
use super::{Thread, Token, alloc, stacks};
use reweave_conductor::words::{Flag, Long};
use reweave_guest::Guarded;
use reweave_model::wire::{self, kind};
use seen::Seen;
use std::cell::Cell;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};

/// Words of a buffer: 64 KB.
const WORDS: usize = 8192;
/// The longest range whose bytes are kept; those of longer ones are unknown.
const MAX_RANGE: u64 = 1024;
/// Room for one record of any kind, and for the read that belongs to a write.
const SLACK: usize = 2 * (4 + MAX_RANGE as usize / 8);

/// Records that only buffers hold: a function is entered (by a call at this position, with this stack pointer), or left.
const ENTER: u8 = 0xf0;
const LEAVE: u8 = 0xf1;
/// The record before is of a function that was entered, too.
const FOLLOWS: u64 = 1 << 8;

/// Threads that have a buffer. Touched by the holder of the token only.
// SAFETY: for the holder of the token of the one conductor.
static THREADS: Guarded<Vec<u32>> = unsafe { Guarded::new(Vec::new()) };

pub struct Buffer {
    /// Where the next record goes.
    at: AtomicPtr<u64>,
    /// Whoever ends the process has taken what was there: nothing more is recorded of the thread.
    closed: Flag,
    start: *mut u64,
    limit: *mut u64,
    /// The record of the write whose value is filled in at the next hook, or null.
    pending: AtomicPtr<u64>,
    pending_addr: Cell<u64>,
    pending_size: Cell<u32>,
    /// Behind the last record, if that is of a function that was entered, else null.
    entered: Cell<*mut u64>,
    /// How often records were taken back.
    taken_back: Long,
    /// Functions that were entered since one that is left out, that one included, and its stack pointer.
    left_out: Cell<u32>,
    left_out_sp: Cell<u64>,
    /// What need not be recorded again, if nobody wants to know everything.
    seen: Seen,
}

/// Of a write record: where its value or payload stands.
const fn value_at(head: u64) -> usize {
    if head as u8 == kind::WRITE { 2 } else { 3 }
}

impl Buffer {
    /// For a thread that begins.
    pub fn attach(token: &mut Token<'_>) {
        let start: *mut u64 = alloc::map(WORDS * 8).cast();
        let header = token.conductor().region().header();
        let buffer = Box::new(Self {
            at: AtomicPtr::new(start),
            closed: Flag::new(false),
            start,
            limit: start.wrapping_add(if start.is_null() { 0 } else { WORDS - SLACK }),
            pending: AtomicPtr::new(null_mut()),
            pending_addr: Cell::new(0),
            pending_size: Cell::new(0),
            entered: Cell::new(null_mut()),
            taken_back: Long::new(0),
            left_out: Cell::new(0),
            left_out_sp: Cell::new(0),
            seen: Seen::new(header.skip_repeats != 0),
        });
        // Without memory nothing is recorded of it.
        if !start.is_null() {
            token.me().row.buffer.store(Box::into_raw(buffer), Ordering::Release);
            let id = token.id();
            THREADS.get(token).push(id);
        }
    }

    /// The thread ends; it has caught up.
    pub fn detach(token: &mut Token<'_>) {
        let buffer = token.me().row.buffer.swap(null_mut(), Ordering::Relaxed);
        if !buffer.is_null() {
            let id = token.id();
            THREADS.get(token).retain(|&thread| thread != id);
            // SAFETY: made by `attach`; the thread does not come here again, and nobody else without the token.
            let buffer = unsafe { Box::from_raw(buffer) };
            alloc::unmap(buffer.start.cast(), WORDS * 8);
        }
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        self.at.load(Ordering::Relaxed) >= self.limit
    }

    /// Fills in the value of the write before.
    #[inline(always)]
    fn settle(&self) {
        let pending = self.pending.load(Ordering::Relaxed);
        if !pending.is_null() {
            self.settle_now(pending);
        }
    }

    #[inline(always)]
    fn settle_now(&self, pending: *mut u64) {
        let (addr, size) = (self.pending_addr.get(), self.pending_size.get());
        // SAFETY: a record in the buffer, with room for its value.
        unsafe {
            let value = pending.add(value_at(*pending));
            match size {
                8 => *value = load(addr, 8),
                4 => *value = load(addr, 4),
                1 => *value = load(addr, 1),
                _ => copy_words(addr, size, value),
            }
        }
        self.pending.store(null_mut(), Ordering::Release);
    }

    /// Whether the write before belongs to a copy that this read of as many bytes goes on with (see
    /// [`copies`](super::copies)): then its value is not there yet.
    #[inline(always)]
    fn follows_write(&self, size: u32) -> bool {
        let pending = self.pending.load(Ordering::Relaxed);
        if pending.is_null() || self.pending_size.get() != size {
            return false;
        }
        // SAFETY: a record in the buffer.
        let value = unsafe { pending.add(value_at(*pending)) };
        value.wrapping_add((size as usize).div_ceil(8)) == self.at.load(Ordering::Relaxed)
    }

    /// An access of at most eight bytes; the buffer is not full.
    #[inline(always)]
    fn put<const WRITE: bool>(&self, addr: u64, size: u32, flags: u8, pc: u64) {
        if WRITE || !self.follows_write(size) {
            self.settle();
        }
        let at = self.at.load(Ordering::Relaxed);
        let kind = if WRITE { kind::WRITE } else { kind::READ };
        // SAFETY: there is room.
        unsafe {
            *at = wire::access_word(kind, size as u8, flags, pc);
            *at.add(1) = addr;
            *at.add(2) = load(addr, size);
        }
        self.done::<WRITE>(at, wire::ACCESS_WORDS, addr, size);
    }

    /// A range; the buffer is not full.
    fn put_range<const WRITE: bool>(&self, addr: u64, size: u32, flags: u8, pc: u64) {
        if WRITE || !self.follows_write(size) {
            self.settle();
        }
        let at = self.at.load(Ordering::Relaxed);
        let payload = if u64::from(size) <= MAX_RANGE { size } else { 0 };
        let kind = if WRITE { kind::WRITE_RANGE } else { kind::READ_RANGE };
        // SAFETY: there is room.
        unsafe {
            *at = u64::from(kind) | u64::from(flags) << 8 | pc << 16;
            *at.add(1) = addr;
            *at.add(2) = u64::from(size) << 32 | u64::from(payload);
            copy_words(addr, payload, at.add(3));
        }
        let words = 3 + (payload as usize).div_ceil(8);
        if payload == 0 {
            self.at.store(at.wrapping_add(words), Ordering::Release);
        } else {
            self.done::<WRITE>(at, words, addr, size);
        }
    }

    /// Shows a record; a write awaits its value.
    #[inline(always)]
    fn done<const WRITE: bool>(&self, at: *mut u64, words: usize, addr: u64, size: u32) {
        if WRITE {
            self.pending_addr.set(addr);
            self.pending_size.set(size);
            self.pending.store(at, Ordering::Release);
        }
        self.at.store(at.wrapping_add(words), Ordering::Release);
    }

    /// A function is entered; the buffer is not full.
    fn enter(&self, caller: u64, sp: u64) {
        let at = self.at.load(Ordering::Relaxed);
        let follows = if self.entered.get() == at { FOLLOWS } else { 0 };
        // SAFETY: there is room.
        unsafe {
            *at = u64::from(ENTER) | follows | caller << 16;
            *at.add(1) = sp;
        }
        self.entered.set(at.wrapping_add(2));
        self.at.store(at.wrapping_add(2), Ordering::Release);
    }

    /// It is left; the buffer is not full. One in which nothing was recorded was not entered.
    fn leave(&self) {
        let at = self.at.load(Ordering::Relaxed);
        if self.entered.get() == at && at > self.start {
            let before = at.wrapping_sub(2);
            // SAFETY: that record.
            let follows = unsafe { *before } & FOLLOWS != 0;
            self.entered.set(if follows { before } else { null_mut() });
            self.taken_back.set(self.taken_back.get() + 1);
            std::sync::atomic::compiler_fence(Ordering::SeqCst);
            return self.at.store(before, Ordering::Release);
        }
        // SAFETY: there is room.
        unsafe { *at = u64::from(LEAVE) };
        self.at.store(at.wrapping_add(1), Ordering::Release);
    }
}

/// Copies `size` bytes of the program's memory into words, the last one padded with zeros.
///
/// # Safety
/// `to` has room.
unsafe fn copy_words(addr: u64, size: u32, to: *mut u64) {
    for i in 0..size.div_ceil(8) {
        // SAFETY: by the contract.
        unsafe { *to.add(i as usize) = load(addr + u64::from(i) * 8, (size - i * 8).min(8)) };
    }
}

/// The calling thread has the token: what it did without is recorded.
#[inline]
pub fn catch_up(token: &mut Token<'_>) {
    // SAFETY: null, or the buffer of this very thread, which stays until it ends.
    if let Some(buffer) = unsafe { token.me().row.buffer.load(Ordering::Relaxed).as_ref() } {
        catch_up_with(token, buffer);
    }
}

#[inline(never)]
fn catch_up_with(token: &mut Token<'_>, buffer: &Buffer) {
    buffer.settle();
    let (from, until) = (buffer.start, buffer.at.load(Ordering::Relaxed));
    buffer.seen.next(token.conductor().region().header().forgot.load(Ordering::Relaxed));
    if from != until && !buffer.closed.get() {
        let row = token.pointer();
        // SAFETY: both lie in the buffer; the row is this thread's.
        unsafe { take(token, row, std::slice::from_raw_parts(from, until.offset_from_unsigned(from))) };
    }
    buffer.entered.set(null_mut());
    buffer.at.store(buffer.start, Ordering::Release);
}

/// In the child of a fork: other threads are not there.
///
/// # Safety
/// The caller is alone.
pub unsafe fn forget() {
    // SAFETY: by the contract.
    unsafe { THREADS.get_alone() }.clear();
}

/// The process ends: what other threads did is recorded as well. They may go on meanwhile, unrecorded.
pub fn catch_up_all(token: &mut Token<'_>) {
    if !token.conductor().is_free() {
        return;
    }
    catch_up(token);
    let me = token.id();
    let others: Vec<u32> = THREADS.get(token).iter().copied().filter(|&thread| thread != me).collect();
    for thread in others {
        let Some(row) = token.thread(thread).map(NonNull::from) else { continue };
        // SAFETY: a row goes by the hand of the token's holder alone, as does its buffer.
        unsafe {
            let Some(buffer) = row.as_ref().row.buffer.load(Ordering::Acquire).as_ref() else { continue };
            if !buffer.closed.replace(true)
                && let Some(words) = copy_of(buffer)
            {
                take(token, row, &words);
            }
        }
    }
}

/// What another thread has in its buffer, up to a write whose value is not there yet. `None`: it took something back
/// whenever we looked.
fn copy_of(buffer: &Buffer) -> Option<Vec<u64>> {
    const TRIES: usize = 100;
    for _ in 0..TRIES {
        let count = buffer.taken_back.get();
        std::sync::atomic::fence(Ordering::SeqCst);
        let mut until = buffer.at.load(Ordering::Acquire);
        let pending = buffer.pending.load(Ordering::Acquire);
        let from = buffer.start;
        if !pending.is_null() && pending >= from && pending < until {
            until = pending;
        }
        // SAFETY: both lie in the buffer. What its thread changes meanwhile is not used.
        let words = unsafe { (0..until.offset_from_unsigned(from)).map(|i| from.add(i).read_volatile()).collect() };
        std::sync::atomic::fence(Ordering::SeqCst);
        if buffer.taken_back.get() == count {
            return Some(words);
        }
    }
    None
}

/// Records what a buffer holds, as done by its thread.
///
/// # Safety
/// The row is of a thread that has begun and not ended.
unsafe fn take(token: &mut Token<'_>, thread: NonNull<Thread>, words: &[u64]) {
    let (mut at, mut run) = (0, 0);
    while at < words.len() {
        let head = words[at];
        let len = match head as u8 {
            ENTER => 2,
            LEAVE => 1,
            kind::READ | kind::WRITE => {
                at += wire::ACCESS_WORDS;
                continue;
            }
            _ => 3 + kind::payload_words(words[at + 2]),
        };
        if !matches!(head as u8, ENTER | LEAVE) {
            at += len;
            continue;
        }
        // SAFETY: by the contract.
        unsafe {
            put(token, thread, &words[run..at]);
            match head as u8 {
                ENTER => stacks::entered_by(token, thread, head >> 16, words[at + 1], 0),
                _ => stacks::left_by(token, thread),
            }
        }
        at += len;
        run = at;
    }
    // SAFETY: by the contract.
    unsafe { put(token, thread, &words[run..]) };
}

/// Records a run of accesses under one stack.
///
/// # Safety
/// As for [`take`].
unsafe fn put(token: &mut Token<'_>, thread: NonNull<Thread>, words: &[u64]) {
    if !words.is_empty() {
        // SAFETY: by the contract.
        token.recorder().0.take_over(unsafe { thread.as_ref() }, words);
    }
}
