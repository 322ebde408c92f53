//! The target's half of the recorder: writes records into the ring of chunks. Only the holder of the token writes.

use crate::shared::{CHUNK_BYTES, CHUNKS, Region};
use crate::sys;
use crate::thread::{NO_THREAD, Thread};
use reweave_model::wire::{self, Encoder, Record};
use reweave_model::{Op, Pc, StackId, ThreadId};
use std::sync::atomic::Ordering;

/// A chunk is handed over when less than this is left in it, so that the per-access path checks once. Room for two
/// accesses with their context: the read of a copy stays with its write.
const SLACK: usize = 128;

pub struct Recorder {
    pub region: Region,
    /// Where the next record goes, mirrored into the header for the launcher.
    // invariant: between `chunk` and `limit`
    pub cursor: *mut u64,
    pub limit: *mut u64,
    chunk: *mut u64,
    /// Number of the chunk being filled.
    pub sequence: u32,
    /// Thread the reader believes current.
    pub said_thread: u32,
    discarding: bool,
}

impl Recorder {
    pub fn new(region: Region) -> Self {
        let mut recorder = Self {
            region,
            cursor: std::ptr::null_mut(),
            limit: std::ptr::null_mut(),
            chunk: std::ptr::null_mut(),
            sequence: 0,
            said_thread: NO_THREAD,
            discarding: false,
        };
        recorder.open();
        recorder
    }

    fn open(&mut self) {
        self.chunk = self.region.chunk(self.sequence).cast();
        self.cursor = self.chunk;
        // SAFETY: both ends lie in the chunk.
        self.limit = unsafe { self.chunk.add((CHUNK_BYTES - SLACK) / 8) };
        let header = self.region.header();
        header.chunk_thread[self.sequence as usize % CHUNKS].store(self.said_thread, Ordering::Relaxed);
        header.cursor.store(0, Ordering::Release);
    }

    /// Hands the chunk to the launcher and takes the next free one, waiting for it if need be: the program slows
    /// down rather than losing events.
    #[cold]
    pub fn publish(&mut self, thread: &mut Thread) {
        let header = self.region.header();
        debug_assert!(thread.pending.is_null(), "a chunk goes out with an unknown value");
        if self.discarding || header.discard.load(Ordering::Relaxed) != 0 {
            self.discarding = true;
            self.said_thread = NO_THREAD;
            self.open();
            thread.stack_said = u64::MAX;
            return;
        }
        let len = self.cursor as usize - self.chunk as usize;
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
    }

    /// Recomputes what the thread's next record must be preceded by.
    pub fn show_stack(&self, thread: &mut Thread) {
        thread.stack_wanted = u64::from(self.sequence) << 32 | thread.stack_wanted & 0xffff_ffff;
    }

    pub fn set_stack(&self, thread: &mut Thread, stack: u32) {
        thread.stack_wanted = u64::from(self.sequence) << 32 | u64::from(stack);
    }

    /// Writes the records that set the context for one of `thread`: who it is, and its stack.
    #[cold]
    pub fn context(&mut self, thread: &mut Thread) {
        self.show_stack(thread);
        if self.said_thread != thread.id {
            self.said_thread = thread.id;
            self.put(&Record::Switch { thread: ThreadId(thread.id) });
        }
        if thread.stack_said != thread.stack_wanted {
            thread.stack_said = thread.stack_wanted;
            self.put(&Record::Stack { stack: StackId(thread.stack_wanted as u32) });
        }
    }

    /// Fills in the value of the write that this thread's last hook announced.
    #[inline(always)]
    pub fn settle(&mut self, thread: &mut Thread) {
        if !thread.pending.is_null() {
            self.settle_now(thread);
        }
    }

    /// The same without calling anything; false if the write is too long for that.
    #[inline(always)]
    pub fn settle_word(&mut self, thread: &mut Thread) -> bool {
        if thread.pending.is_null() {
            return true;
        }
        let size = thread.pending_size;
        if !matches!(size, 1 | 2 | 4 | 8) {
            return false;
        }
        // SAFETY: `pending` points into the chunk being filled.
        unsafe { *thread.pending = load(thread.pending_addr, size) };
        thread.pending = std::ptr::null_mut();
        self.region.header().pending.store(0, Ordering::Relaxed);
        true
    }

    /// Whether the write that awaits its value was recorded right before and is as long as the read that comes now. gcc copies
    /// a structure as write hook, read hook, copy: the value is there one hook later.
    #[inline(always)]
    fn follows_write(&self, thread: &Thread, size: u32) -> bool {
        let words = (size as usize).div_ceil(8);
        thread.pending_size == size && thread.pending.wrapping_add(words) == self.cursor && !thread.pending.is_null()
    }

    /// As [`Self::settle_word`], before a read.
    #[inline(always)]
    pub fn settle_word_before_read(&mut self, thread: &mut Thread, size: u32) -> bool {
        self.follows_write(thread, size) || self.settle_word(thread)
    }

    pub fn settle_before_read(&mut self, thread: &mut Thread, size: u32) {
        if !self.follows_write(thread, size) {
            self.settle(thread);
        }
    }

    /// Whether the thread, about to read these bytes, seems to be in the middle of copying them: the place of the announced
    /// write still holds what it held then, and something else than what is to be copied. Another thread must not
    /// come in between: for it the write would have happened, and has not.
    pub fn is_copying(&self, thread: &Thread, from: u64, size: u32) -> bool {
        if !self.follows_write(thread, size) {
            return false;
        }
        let mut differs = false;
        for i in 0..size.div_ceil(8) {
            let (at, len) = (u64::from(i) * 8, (size - i * 8).min(8));
            // SAFETY: the payload of the announced write, filled with the old bytes.
            let old = unsafe { *thread.pending.add(i as usize) };
            if load(thread.pending_addr + at, len) != old {
                return false;
            }
            differs |= load(from + at, len) != old;
        }
        differs
    }

    fn settle_now(&mut self, thread: &mut Thread) {
        let (addr, size) = (thread.pending_addr, thread.pending_size);
        // SAFETY: `pending` points into the chunk being filled, with room for the payload.
        unsafe { copy_words(addr, size, thread.pending) };
        thread.pending = std::ptr::null_mut();
        self.region.header().pending.store(0, Ordering::Relaxed);
    }

    /// Records one event of `thread`, which holds the token.
    pub fn event(&mut self, thread: &mut Thread, pc: u64, op: Op<'_>) {
        self.record(thread, &Record::Event { pc: Pc(pc & 0xffff_ffff_ffff), op });
    }

    pub fn record(&mut self, thread: &mut Thread, record: &Record<'_>) {
        self.settle(thread);
        // Two words of context may come first.
        let words = record.words_needed() + 4;
        // SAFETY: pointer arithmetic within or just past the chunk.
        if unsafe { self.cursor.add(words) } > self.limit {
            self.publish(thread);
        }
        self.context(thread);
        self.put(record);
    }

    fn put(&mut self, record: &Record<'_>) {
        let room = (self.chunk as usize + CHUNK_BYTES - self.cursor as usize) / 8;
        // SAFETY: the rest of the chunk belongs to us.
        let out = unsafe { std::slice::from_raw_parts_mut(self.cursor, room) };
        let len = Encoder::new(out).record(record);
        self.advance(len);
    }

    #[inline(always)]
    pub fn advance(&mut self, words: usize) {
        // SAFETY: callers have written that many words inside the chunk.
        self.cursor = unsafe { self.cursor.add(words) };
        let used = self.cursor as u64 - self.chunk as u64;
        self.region.header().cursor.store(used, Ordering::Release);
    }

    /// Marks the write record at the cursor, whose value or payload starts `fixed` words on, as not yet known; it holds what
    /// was there before. Call before [`Self::advance`].
    #[inline(always)]
    pub fn announce(&mut self, thread: &mut Thread, fixed: usize, addr: u64, size: u32) {
        // SAFETY: inside the record.
        thread.pending = unsafe { self.cursor.add(fixed) };
        thread.pending_addr = addr;
        thread.pending_size = size;
        let offset = self.cursor as u64 - self.chunk as u64;
        self.region.header().pending.store(offset + 1, Ordering::Relaxed);
    }

    /// Records a plain range access of `size` bytes; a write's bytes are taken at the thread's next hook, a read's now.
    pub fn range(&mut self, thread: &mut Thread, pc: u64, addr: u64, size: u32, write: bool, flags: u8) {
        let payload = if size as usize <= wire::MAX_PAYLOAD { size } else { 0 };
        let words = (payload as usize).div_ceil(8);
        // With a write comes the room for the read that may follow in a copy.
        let room = if write { 2 * (words + 8) } else { words + 8 };
        let full = self.cursor.wrapping_add(room) > self.limit;
        if write || full {
            self.settle(thread);
        } else {
            self.settle_before_read(thread, size);
        }
        if full {
            self.publish(thread);
        }
        self.context(thread);
        let kind = if write { wire::kind::WRITE_RANGE } else { wire::kind::READ_RANGE };
        // SAFETY: there is room for the record.
        unsafe {
            *self.cursor = u64::from(kind) | u64::from(flags) << 8 | pc << 16;
            *self.cursor.add(1) = addr;
            *self.cursor.add(2) = u64::from(size) << 32 | u64::from(payload);
            copy_words(addr, payload, self.cursor.add(3));
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

/// Chunk number and offset: grows with every record.
pub fn position(region: &Region) -> u64 {
    let header = region.header();
    u64::from(header.filled.load(Ordering::Relaxed)) << 32 | header.cursor.load(Ordering::Relaxed)
}

/// Copies `size` bytes of the target's memory into words, the last one padded with zeros.
///
/// # Safety
/// `to` has room.
unsafe fn copy_words(addr: u64, size: u32, to: *mut u64) {
    let whole = size / 8;
    for i in 0..whole {
        // SAFETY: by the contract.
        unsafe { *to.add(i as usize) = load(addr + u64::from(i) * 8, 8) };
    }
    if !size.is_multiple_of(8) {
        // SAFETY: by the contract.
        unsafe { *to.add(whole as usize) = load(addr + u64::from(whole) * 8, size % 8) };
    }
}

/// Reads up to eight bytes of the target's memory. A fault here is repaired by the front end's handler, which skips the
/// instruction (see `fault_fixups`); the value is then 0 and the program's own access faults next.
#[inline(always)]
pub fn load(addr: u64, size: u32) -> u64 {
    macro_rules! fixable {
        ($instruction:literal) => {{
            let value: u64;
            // SAFETY: the access is listed in the fixup table, so a fault continues behind it.
            unsafe {
                std::arch::asm!(
                    "xor {value:e}, {value:e}",
                    concat!("2: ", $instruction),
                    "3:",
                    ".pushsection reweave_fixups, \"aR\", @progbits",
                    ".balign 4",
                    ".long 2b - .",
                    ".long 3b - .",
                    ".popsection",
                    value = out(reg) value, addr = in(reg) addr,
                    options(nostack, readonly)
                );
            }
            value
        }};
    }
    match size {
        8 => fixable!("mov {value}, qword ptr [{addr}]"),
        4 => fixable!("mov {value:e}, dword ptr [{addr}]"),
        1 => fixable!("movzx {value:e}, byte ptr [{addr}]"),
        2 => fixable!("movzx {value:e}, word ptr [{addr}]"),
        _ => (0..u64::from(size)).fold(0, |value, i| value | load_byte(addr + i) << (8 * i)),
    }
}

#[inline(never)]
fn load_byte(addr: u64) -> u64 {
    load(addr, 1)
}

#[cfg(target_os = "linux")]
unsafe extern "C" {
    static __start_reweave_fixups: [i32; 2];
    static __stop_reweave_fixups: [i32; 2];
}

/// If a fault at `pc` is one of ours, where to go on.
pub fn fault_fixup(pc: usize) -> Option<usize> {
    // The linker defines both symbols around the section of pairs written by `load`.
    let (mut entry, stop) = (&raw const __start_reweave_fixups, &raw const __stop_reweave_fixups);
    while entry < stop {
        let at = entry as usize;
        // SAFETY: inside the section; both offsets are relative to their own address.
        let [fault, resume] = unsafe { *entry };
        if at.wrapping_add_signed(fault as isize) == pc {
            return Some((at + 4).wrapping_add_signed(resume as isize));
        }
        // SAFETY: steps over one pair.
        entry = unsafe { entry.add(1) };
    }
    None
}
