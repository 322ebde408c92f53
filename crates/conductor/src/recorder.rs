//! The target's half of the recorder: writes records into the ring of chunks. Only the holder of the token writes.
//!
//! A front end whose hooks come before the access knows a write's value only later: it *announces* the write, and the
//! value is filled in ([`Recorder::settle`]) at the thread's next hook, or before anybody else can run.

use crate::foreseen::{Foreseeing, NOT_SHOWN, foreseen_so_far};
use crate::repeats::Repeats;
use crate::shared::{CHUNK_BYTES, CHUNKS, Region};
use crate::sys;
use crate::thread::{NO_THREAD, Thread};
use crate::world::World;
use reweave_model::wire::{self, Encoder, Record};
use reweave_model::{Op, Pc, StackId, ThreadId};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

/// A chunk is handed over when less than this is left in it, so that the per-access path checks once. Room for two
/// accesses with their context: the read of a copy stays with its write.
const SLACK: usize = 128;

pub struct Recorder<W> {
    region: Region,
    /// Where the next record goes, mirrored into the header for the launcher.
    // invariant: between `chunk` and its end
    pub(crate) cursor: *mut u64,
    pub(crate) limit: *mut u64,
    pub(crate) chunk: *mut u64,
    /// Number of the chunk being filled.
    pub(crate) sequence: u32,
    /// Thread the reader believes current.
    said_thread: u32,
    discarding: bool,
    /// Which accesses need not be recorded again.
    pub repeats: Repeats,
    /// What the launcher had forgotten when we last looked.
    forgot: u32,
    pub(crate) foreseeing: Foreseeing,
    world: PhantomData<W>,
}

/// Where hooks that a front end has outside of this library find what they need to write records themselves.
#[derive(Clone, Copy, Debug)]
pub struct RecorderWords {
    /// Where the next record goes.
    pub cursor: *mut *mut u64,
    /// From here on the chunk is full.
    pub limit: *const *mut u64,
    /// How many bytes of the chunk the launcher sees: grows with the cursor.
    pub visible: *const AtomicU64,
}

/// A plain access to several bytes that a front end takes from the program's memory.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    pub addr: u64,
    pub size: u32,
    pub write: bool,
    pub flags: u8,
}

impl<W: World> Recorder<W> {
    pub(crate) fn new(region: Region) -> Self {
        let mut recorder = Self {
            region,
            cursor: std::ptr::null_mut(),
            limit: std::ptr::null_mut(),
            chunk: std::ptr::null_mut(),
            sequence: 0,
            said_thread: NO_THREAD,
            discarding: false,
            repeats: Repeats::new(region.header().skip_repeats != 0 && region.header().free == 0),
            forgot: 0,
            foreseeing: Foreseeing::new(region),
            world: PhantomData,
        };
        // In the child of a fork they may be.
        W::foresee(false);
        recorder.open();
        recorder
    }

    #[inline(always)]
    pub(crate) const fn region(&self) -> Region {
        self.region
    }

    fn open(&mut self) {
        self.chunk = self.region.chunk(self.sequence).cast();
        self.cursor = self.chunk;
        // SAFETY: both ends lie in the chunk.
        self.limit = unsafe { self.chunk.add((CHUNK_BYTES - SLACK) / 8) };
        let header = self.region.header();
        header.chunk_thread[self.sequence as usize % CHUNKS].store(self.said_thread, Ordering::Relaxed);
        header.cursor.store(0, Ordering::Release);
        self.foresee_anew();
    }

    /// Where the next record goes.
    #[inline(always)]
    pub const fn cursor(&self) -> *mut u64 {
        self.cursor
    }

    /// The words of the per-access path, for hooks that are not compiled with this library. They stay where the
    /// conductor stays; only the holder of the token touches what they point to, and not while it is in an operation.
    pub fn words(&mut self) -> RecorderWords {
        let visible = &raw const self.region.header().cursor;
        RecorderWords { cursor: &raw mut self.cursor, limit: &raw const self.limit, visible }
    }

    /// Whether the chunk must be [handed over](Self::publish) before the next access.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.cursor >= self.limit
    }

    /// Hands the chunk to the launcher and takes the next free one, waiting for it if need be: the program slows
    /// down rather than losing events.
    #[cold]
    pub fn publish(&mut self, thread: &Thread<W::Row>) {
        let header = self.region.header();
        debug_assert!(thread.own.pending.get().is_null(), "a chunk goes out with an unknown value");
        self.end_run(thread);
        if self.discarding || header.discard.load(Ordering::Relaxed) != 0 {
            self.discarding = true;
            self.said_thread = NO_THREAD;
            self.open();
            thread.own.stack_said.set(NOT_SHOWN);
            return;
        }
        let len = self.cursor as usize - self.chunk as usize;
        self.judge_chunk(len as u64 / 8);
        header.chunk_len[self.sequence as usize % CHUNKS].store(len as u32, Ordering::Relaxed);
        // Cleared first: whoever sees the new count must not count the old chunk's bytes twice.
        header.cursor.store(0, Ordering::Release);
        self.sequence += 1;
        header.filled.store(self.sequence, Ordering::Release);
        sys::futex_wake(&header.filled);
        let mut since = None;
        loop {
            let drained = header.drained.load(Ordering::Acquire);
            if self.sequence.wrapping_sub(drained) < CHUNKS as u32 {
                break;
            }
            if header.discard.load(Ordering::Relaxed) != 0 {
                break;
            }
            if since.is_none() {
                since = Some(sys::monotonic_now());
                header.stalls.fetch_add(1, Ordering::Relaxed);
            }
            sys::futex_wait(&header.drained, drained, Some(200_000_000));
            if !sys::alive(header.launcher_pid) {
                header.discard.store(1, Ordering::Relaxed);
            }
        }
        if let Some(since) = since {
            header.stalled.fetch_add(sys::monotonic_now() - since, Ordering::Relaxed);
        }
        self.open();
        self.show_stack(thread);
        self.forget_with_the_launcher();
    }

    /// Recomputes what the thread's next record must be preceded by.
    fn show_stack(&self, thread: &Thread<W::Row>) {
        self.set_stack(thread, thread.own.stack());
    }

    /// From here on the thread's records show this stack.
    #[inline(always)]
    pub fn set_stack(&self, thread: &Thread<W::Row>, stack: u32) {
        thread.own.stack_wanted.set(u64::from(self.sequence) << 32 | u64::from(stack));
    }

    /// Writes the records that set the context for one of `thread`: who it is, and its stack.
    #[cold]
    pub fn context(&mut self, thread: &Thread<W::Row>) {
        self.show_stack(thread);
        if self.said_thread != thread.id {
            self.said_thread = thread.id;
            thread.own.stack_said.set(NOT_SHOWN);
            self.switch_foreseen();
            self.put(thread, &Record::Switch { thread: ThreadId(thread.id) });
        }
        if !thread.own.shows_stack() {
            self.put(thread, &Record::Stack { stack: StackId(thread.own.stack()) });
            thread.own.stack_said.set(thread.own.stack_wanted.get());
        }
    }

    /// Fills in the value of the write that this thread's last hook announced.
    #[inline(always)]
    pub fn fill_pending_write(&mut self, thread: &Thread<W::Row>) {
        if !thread.own.pending.get().is_null() {
            self.fill_pending_now(thread);
        }
    }

    /// The same without calling anything; false if the write is too long for that.
    #[inline(always)]
    pub fn fill_pending_word(&mut self, thread: &Thread<W::Row>) -> bool {
        let (pending, addr, size) = thread.own.announced();
        if pending.is_null() {
            return true;
        }
        let value = match size {
            8 => W::load(addr, 8),
            4 => W::load(addr, 4),
            1 => W::load(addr, 1),
            2 => W::load(addr, 2),
            _ => return false,
        };
        // SAFETY: `pending` points into the chunk being filled.
        unsafe { *pending = value };
        self.clear_pending(thread);
        true
    }

    #[inline(always)]
    fn clear_pending(&mut self, thread: &Thread<W::Row>) {
        thread.own.pending.set(std::ptr::null_mut());
        self.region.header().pending.store(0, Ordering::Relaxed);
        // A value in a run is only now to be seen.
        self.show_cursor();
    }

    fn fill_pending_now(&mut self, thread: &Thread<W::Row>) {
        let (pending, addr, size) = thread.own.announced();
        // SAFETY: `pending` points into the chunk being filled, with room for the payload.
        unsafe { copy_words::<W>(addr, size, pending) };
        self.clear_pending(thread);
    }

    /// Records one event of `thread`, which holds the token.
    pub fn event(&mut self, thread: &Thread<W::Row>, pc: u64, op: Op<'_>) {
        self.record(thread, &Record::Event { pc: Pc(pc & 0xffff_ffff_ffff), op });
        self.repeats.next(&thread.own.moment);
        thread.slice.quiet.set(false);
        // Memory begins another life, or others lose their locks.
        if matches!(op, Op::Alloc { .. } | Op::Misused { .. }) {
            self.repeats.forget();
        }
        self.forget_with_the_launcher();
    }

    fn forget_with_the_launcher(&mut self) {
        let forgot = self.region.header().forgot.load(Ordering::Relaxed);
        if forgot != self.forgot {
            self.forgot = forgot;
            self.repeats.forget();
        }
    }

    /// An access that repeats another is not recorded. Its write would have been filled in; nobody asks for its value.
    #[inline(always)]
    pub fn pass_over(&mut self, thread: &Thread<W::Row>) {
        if !thread.own.pending.get().is_null() {
            self.clear_pending(thread);
        }
    }

    pub fn record(&mut self, thread: &Thread<W::Row>, record: &Record<'_>) {
        self.fill_pending_write(thread);
        // Two words of context may come first.
        let words = record.words_needed() + 4;
        if self.cursor.wrapping_add(words) > self.limit {
            self.publish(thread);
        }
        self.context(thread);
        self.put(thread, record);
    }

    /// Takes over records of a thread, made elsewhere: whole ones, fewer than a chunk has room for, all in the context
    /// that the thread shows.
    pub fn take_over(&mut self, thread: &Thread<W::Row>, words: &[u64]) {
        self.fill_pending_write(thread);
        if self.cursor.wrapping_add(words.len() + 4) > self.limit {
            self.publish(thread);
        }
        self.context(thread);
        // SAFETY: the chunk has room for them.
        unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), self.cursor, words.len()) };
        self.advance(words.len());
    }

    fn put(&mut self, thread: &Thread<W::Row>, record: &Record<'_>) {
        self.end_run(thread);
        let room = (self.chunk as usize + CHUNK_BYTES - self.cursor as usize) / 8;
        // SAFETY: the rest of the chunk belongs to us.
        let out = unsafe { std::slice::from_raw_parts_mut(self.cursor, room) };
        let len = Encoder::new(out).record(record);
        self.advance(len);
    }

    // Callers have written that many words inside the chunk.
    #[inline(always)]
    fn advance(&mut self, words: usize) {
        self.cursor = self.cursor.wrapping_add(words);
        self.show_cursor();
    }

    #[inline(always)]
    pub(crate) fn show_cursor(&self) {
        let used = self.cursor as u64 - self.chunk as u64;
        self.region.header().cursor.store(used, Ordering::Release);
    }

    /// Marks the write record at the cursor, whose value or payload starts `fixed` words on, as not yet known; it holds
    /// what was there before. Comes before [`Self::advance`].
    #[inline(always)]
    fn announce(&mut self, thread: &Thread<W::Row>, fixed: usize, addr: u64, size: u32) {
        thread.own.pending.set(self.cursor.wrapping_add(fixed));
        thread.own.pending_addr.set(addr);
        thread.own.pending_size.set(size);
        let offset = self.cursor as u64 - self.chunk as u64;
        self.region.header().pending.store(offset + 1, Ordering::Relaxed);
    }

    /// Writes the record of a plain access of at most eight bytes, a write's with what was there before: it is
    /// announced. `head`: as made by [`wire::access_word`]. `FORESEE`: it may stand between accesses that are foreseen.
    ///
    /// # Safety
    /// The chunk is [not full](Self::is_full), the thread's [stack is shown](crate::thread::Own::shows_stack), and no
    /// other write is announced, except one whose record is right before that of a read.
    #[inline(always)]
    pub unsafe fn put_access<const WRITE: bool, const FORESEE: bool>(
        &mut self,
        thread: &Thread<W::Row>,
        head: u64,
        (addr, size): (u64, u32),
        value: u64,
    ) {
        if FORESEE {
            self.before_access(thread, head, addr, size);
        }
        let (at, header) = (self.cursor, self.region.header());
        // SAFETY: `limit` leaves room for the context and this record.
        unsafe {
            *at = head;
            *at.add(1) = addr;
            *at.add(2) = value;
        }
        // Written out, so that nothing is loaded twice.
        if WRITE {
            thread.own.pending.set(at.wrapping_add(2));
            thread.own.pending_addr.set(addr);
            thread.own.pending_size.set(size);
            header.pending.store(at as u64 - self.chunk as u64 + 1, Ordering::Relaxed);
        }
        self.cursor = at.wrapping_add(wire::ACCESS_WORDS);
        header.cursor.store(self.cursor as u64 - self.chunk as u64, Ordering::Release);
        if FORESEE {
            self.after_access(thread, head, addr, at.wrapping_add(2));
        }
    }

    /// Records a plain range access; a write's bytes are taken at the thread's next hook, a read's now. `keep`: the
    /// write that is announced stays so, if the chunk has room.
    pub fn range(&mut self, thread: &Thread<W::Row>, pc: u64, range: Range, keep: bool) {
        let Range { addr, size, write, flags } = range;
        let payload = if size as usize <= wire::MAX_PAYLOAD { size } else { 0 };
        let words = (payload as usize).div_ceil(8);
        // With a write comes the room for the read that may follow in a copy.
        let room = if write { 2 * (words + 8) } else { words + 8 };
        let full = self.cursor.wrapping_add(room) > self.limit;
        if full || !keep {
            self.fill_pending_write(thread);
        }
        if full {
            self.publish(thread);
        }
        self.context(thread);
        self.end_run(thread);
        let kind = if write { wire::kind::WRITE_RANGE } else { wire::kind::READ_RANGE };
        // SAFETY: there is room for the record.
        unsafe {
            *self.cursor = u64::from(kind) | u64::from(flags) << 8 | pc << 16;
            *self.cursor.add(1) = addr;
            *self.cursor.add(2) = u64::from(size) << 32 | u64::from(payload);
            copy_words::<W>(addr, payload, self.cursor.add(3));
        }
        if write && payload > 0 {
            self.announce(thread, 3, addr, payload);
        }
        self.advance(3 + words);
    }

    /// A position in the trace, to see whether anything happened since.
    pub fn position(&self) -> u64 {
        position(&self.region)
    }
}

/// Chunk number and offset, and what has no record of its own: grows with every record and every access.
pub fn position(region: &Region) -> u64 {
    let header = region.header();
    let records = u64::from(header.filled.load(Ordering::Relaxed)) << 32 | header.cursor.load(Ordering::Relaxed);
    records.wrapping_add(foreseen_so_far(region))
}

/// Copies `size` bytes of the program's memory into words, the last one padded with zeros.
///
/// # Safety
/// `to` has room.
unsafe fn copy_words<W: World>(addr: u64, size: u32, to: *mut u64) {
    let whole = size / 8;
    for i in 0..whole {
        // SAFETY: by the contract.
        unsafe { *to.add(i as usize) = W::load(addr + u64::from(i) * 8, 8) };
    }
    if !size.is_multiple_of(8) {
        // SAFETY: by the contract.
        unsafe { *to.add(whole as usize) = W::load(addr + u64::from(whole) * 8, size % 8) };
    }
}
