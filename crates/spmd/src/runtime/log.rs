//! The rank's log: a file that is mapped and grows, so that a rank that is killed loses nothing.
//!
//! | bytes | what |
//! | --- | --- |
//! | 0..8 | magic, `rwspmd02` |
//! | 8..16 | bytes of entries that are whole (little endian) |
//! | 16..20 | rank |
//! | 20..24 | ranks |
//! | 24.. | entries, as [`crate::wire`] has them |

use std::collections::VecDeque;
use std::ffi::CString;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::event::{Event, Logged};
use crate::logfile::{HEADER, MAGIC};
use crate::phases::Counts;
use crate::wire::Wire;

/// The file grows by that much; its pages are made with it, which costs a fraction of a fault for each.
const STEP: usize = 1 << 20;

/// Entries of the longest loop that is known to poll.
const LOOP: usize = 8;

/// What an entry is to a loop that polls.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Poll {
    /// A value came back: what led to it may be left out if it says the same again.
    Sees,
    /// Changes nothing.
    Harmless,
    /// Part of such a loop only if a value comes back.
    Maybe,
    Never,
}

impl Poll {
    fn of(event: &Event) -> Poll {
        match event {
            Event::Returned { .. } => Poll::Sees,
            Event::Lock { .. }
            | Event::Unlock { .. }
            | Event::LockAll { .. }
            | Event::UnlockAll { .. }
            | Event::Flush { .. }
            | Event::Quiet { .. }
            | Event::Local { write: false, .. } => Poll::Harmless,
            Event::Operation(operation) if !operation.action.writes() => Poll::Harmless,
            Event::Operation(operation) if operation.action.returns() => Poll::Maybe,
            _ => Poll::Never,
        }
    }
}

pub struct Log {
    file: i32,
    /// Address space for all that the log may take, of which so much is mapped.
    map: *mut u8,
    mapped: usize,
    used: usize,
    /// Where the phase begins: what lies before has been handed out.
    kept: usize,
    limit: usize,
    scratch: Vec<u8>,
    /// The last entries: where each begins, and what it is to a loop that polls.
    recent: VecDeque<(usize, Poll)>,
    /// Entries that did not fit.
    pub dropped: u64,
}

/// Address space for a log of so many bytes, or of fewer where there is a limit on that.
fn reserve(limit: usize) -> Option<(*mut u8, usize)> {
    let mut limit = limit.max(HEADER);
    loop {
        let size = limit.div_ceil(STEP) * STEP;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping, anywhere.
        let map = unsafe { libc::mmap(std::ptr::null_mut(), size, libc::PROT_NONE, flags, -1, 0) };
        if map != libc::MAP_FAILED {
            return Some((map.cast(), limit));
        }
        if limit <= STEP {
            return None;
        }
        limit /= 2;
    }
}

// SAFETY: one thread at a time has the log; it is behind a mutex.
unsafe impl Send for Log {}

impl Log {
    /// Starts the log of a rank. `limit`: bytes that it may take.
    pub fn create(path: &Path, rank: u32, ranks: u32, limit: usize) -> Option<Log> {
        let path = CString::new(path.as_os_str().as_encoded_bytes()).ok()?;
        // SAFETY: plain system calls on a name of ours.
        let file =
            unsafe { libc::open(path.as_ptr(), libc::O_CREAT | libc::O_RDWR | libc::O_TRUNC | libc::O_CLOEXEC, 0o600) };
        if file < 0 {
            return None;
        }
        let Some((map, limit)) = reserve(limit) else {
            // SAFETY: ours.
            unsafe { libc::close(file) };
            return None;
        };
        let mut log = Log {
            file,
            map,
            mapped: 0,
            used: HEADER,
            kept: HEADER,
            limit,
            scratch: Vec::new(),
            recent: VecDeque::with_capacity(2 * LOOP),
            dropped: 0,
        };
        log.grow(HEADER).then_some(())?;
        // SAFETY: the header lies in the map.
        unsafe {
            std::ptr::copy_nonoverlapping(MAGIC.as_ptr(), log.map, 8);
            log.map.add(16).cast::<u32>().write(rank);
            log.map.add(20).cast::<u32>().write(ranks);
        }
        Some(log)
    }

    /// Makes room for that many bytes. A disk that is full ends the log, not the program.
    fn grow(&mut self, needed: usize) -> bool {
        if needed <= self.mapped {
            return true;
        }
        let (size, from) = (needed.div_ceil(STEP) * STEP, self.mapped);
        // SAFETY: within what was reserved, behind what is in use. Blocks are allocated: a full disk would otherwise be
        // a signal at the first write.
        unsafe {
            if libc::posix_fallocate(self.file, 0, size as i64) != 0 {
                return false;
            }
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_SHARED | libc::MAP_FIXED | libc::MAP_POPULATE;
            let at = self.map.add(from).cast();
            if libc::mmap(at, size - from, protection, flags, self.file, from as i64) == libc::MAP_FAILED {
                return false;
            }
        }
        self.mapped = size;
        true
    }

    pub fn push(&mut self, logged: &Logged) {
        self.scratch.clear();
        logged.put(&mut self.scratch);
        // Loads and stores leave room for what order rests on.
        let local = matches!(logged.event, Event::Local { .. });
        let limit = if local { self.limit / 4 * 3 } else { self.limit };
        let entry = std::mem::take(&mut self.scratch);
        self.write(&entry, Poll::of(&logged.event), limit);
        self.scratch = entry;
    }

    /// An operation that is encoded already. `reads`: it changes nothing at the target.
    pub fn push_operation(&mut self, entry: &[u8], reads: bool) {
        self.write(entry, if reads { Poll::Harmless } else { Poll::Never }, self.limit);
    }

    #[inline]
    fn write(&mut self, entry: &[u8], poll: Poll, limit: usize) {
        let end = self.used + entry.len();
        if end > limit || !self.grow(end) {
            self.dropped += 1;
            return;
        }
        // SAFETY: there is room. The length is published after the bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(entry.as_ptr(), self.map.add(self.used), entry.len());
        }
        if self.recent.len() == 2 * LOOP {
            self.recent.pop_front();
        }
        self.recent.push_back((self.used, poll));
        self.used = end;
        self.publish();
    }

    fn publish(&self) {
        // SAFETY: the header lies in the map.
        let whole = unsafe { &*self.map.add(8).cast::<AtomicU64>() };
        whole.store((self.used - HEADER) as u64, Ordering::Release);
    }

    /// Hands out what was logged since the last time, and begins anew with `first`.
    pub fn phase(&mut self, first: &[Logged]) -> Vec<u8> {
        // SAFETY: whole entries in the map.
        let bytes = unsafe { std::slice::from_raw_parts(self.map.add(self.kept), self.used - self.kept) }.to_vec();
        self.used = HEADER;
        self.recent.clear();
        first.iter().for_each(|logged| self.push(logged));
        self.recent.clear();
        self.kept = self.used;
        self.publish();
        bytes
    }

    /// A loop that polls does the same again and again, and nothing else: what is exactly what came before it is taken
    /// back.
    pub fn take_back(&mut self) {
        let known = self.recent.len();
        for len in 1..=LOOP.min(known / 2) {
            let (second, first) = (known - len, known - 2 * len);
            let block = || self.recent.range(second..).map(|(_, poll)| *poll);
            let polls = block().all(|poll| poll != Poll::Never)
                && (block().any(|poll| poll == Poll::Sees) || block().all(|poll| poll == Poll::Harmless));
            let (start, middle) = (self.recent[first].0, self.recent[second].0);
            if !polls || middle - start != self.used - middle {
                continue;
            }
            // SAFETY: whole entries in the map.
            let bytes = |from: usize, to: usize| unsafe { std::slice::from_raw_parts(self.map.add(from), to - from) };
            if bytes(start, middle) == bytes(middle, self.used) {
                self.used = middle;
                self.recent.truncate(second);
                self.publish();
                return;
            }
        }
    }
}

/// What the host side needs to read the log, a line each, written as it becomes known: a rank that is killed loses
/// nothing.
pub struct Notes {
    file: Option<std::fs::File>,
}

impl Notes {
    pub fn create(path: &Path) -> Notes {
        Notes { file: std::fs::File::create(path).ok() }
    }

    fn write(&mut self, line: &str) {
        use std::io::Write as _;
        if let Some(file) = &mut self.file {
            let _ = file.write_all(line.as_bytes());
        }
    }

    pub fn module(&mut self, number: u64, bias: u64, path: &str) {
        self.write(&format!("module {number:x} {bias:x} {path}\n"));
    }

    /// Loads and stores are seen, not only calls.
    pub fn instrumented(&mut self) {
        self.write("instrumented\n");
    }

    pub fn not_understood(&mut self, name: &str) {
        self.write(&format!("not understood {name}\n"));
    }

    /// The rank judges while the program runs.
    pub fn online(&mut self) {
        self.write("online\n");
    }

    /// What was judged while the program ran.
    pub fn judged(&mut self, counts: &Counts, given_up: u64) {
        let Counts { phases, ordered, accesses, dropped, bytes_sent } = counts;
        self.write(&format!("judged {phases} {ordered} {accesses} {dropped} {bytes_sent} {given_up}\n"));
    }

    /// The rank came to its end.
    pub fn finished(&mut self, dropped: u64) {
        self.write(&format!("finished {dropped}\n"));
    }
}
