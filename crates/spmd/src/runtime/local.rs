//! Loads and stores of the program: the compilers' ThreadSanitizer hooks, where it was built with them.
//!
//! Only memory that others can reach counts: parts of windows, and buffers of operations that are under
//! way. Everything else is left after a comparison with the hull of what is watched, or a look into a table of pages.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use super::{INSIDE, recent, sample, with};
use crate::event::{Buffer, Place};
use crate::ids::{Rank, Window};
use crate::look::{Look, Owners};

#[derive(Clone, Copy)]
struct Watched {
    lo: u64,
    hi: u64,
    owner: Rank,
    window: Window,
    /// Where the range lies in the owner's part of the window.
    offset: u64,
}

struct Ranges {
    /// Parts of windows.
    windows: Vec<Watched>,
    /// Buffers of operations that are under way: where each ends, by where it begins.
    pending: BTreeMap<u64, u64>,
    /// Where they begin, oldest first.
    order: VecDeque<u64>,
    /// Bytes of the longest.
    longest: u64,
}

static RANGES: Mutex<Ranges> =
    Mutex::new(Ranges { windows: Vec::new(), pending: BTreeMap::new(), order: VecDeque::new(), longest: 0 });
/// A module of the program has hooks.
static INSTRUMENTED: AtomicBool = AtomicBool::new(false);
static LISTENING: AtomicBool = AtomicBool::new(false);
/// The hull of everything that is watched.
static LOW: AtomicU64 = AtomicU64::new(u64::MAX);
static HIGH: AtomicU64 = AtomicU64::new(0);

/// Whose memory is looked at; nobody named: everybody's.
static OWNERS: Mutex<Owners> = Mutex::new(Owners::NONE_NAMED);
static OWN: AtomicBool = AtomicBool::new(true);

static FORGOTTEN: AtomicU64 = AtomicU64::new(0);

/// Buffers that are remembered; beyond, the oldest are forgotten together with what happens to them.
const PENDING: usize = 4096;

/// Pages of which a byte is watched; several share an entry, and none is ever taken out.
static PAGES: [AtomicU8; 1 << 16] = [const { AtomicU8::new(0) }; 1 << 16];
const PAGE: u32 = 12;

fn page(number: u64) -> &'static AtomicU8 {
    // Neighbours have entries of their own.
    &PAGES[(number ^ number >> 16) as usize % PAGES.len()]
}

/// May a byte of these be watched?
fn may_be_watched(start: u64, end: u64) -> bool {
    let (first, last) = (start >> PAGE, (end - 1) >> PAGE);
    (first..=last.min(first + PAGES.len() as u64)).any(|number| page(number).load(Ordering::Relaxed) != 0)
}

impl Ranges {
    /// Where a buffer ends that has a byte of these.
    fn pending_at(&self, start: u64, end: u64) -> Option<u64> {
        let mut near = self.pending.range(start.saturating_sub(self.longest)..end);
        near.find(|(_, hi)| start < **hi).map(|(_, hi)| *hi)
    }

    fn add_pending(&mut self, lo: u64, hi: u64) {
        self.longest = self.longest.max(hi - lo);
        match self.pending.get_mut(&lo) {
            Some(known) => *known = hi.max(*known),
            None => {
                if self.pending.len() == PENDING
                    && let Some(oldest) = self.order.pop_front()
                {
                    self.pending.remove(&oldest);
                    FORGOTTEN.fetch_add(1, Ordering::Relaxed);
                }
                self.pending.insert(lo, hi);
                self.order.push_back(lo);
            }
        }
    }
}

fn ranges() -> std::sync::MutexGuard<'static, Ranges> {
    RANGES.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Was the program built so that its loads and stores are seen?
pub fn is_instrumented() -> bool {
    INSTRUMENTED.load(Ordering::Relaxed)
}

/// What this run looks at.
pub fn look_at(look: &Look, me: Rank) {
    if !look.owners.is_everybody() {
        *OWNERS.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = look.owners.clone();
        OWN.store(look.owners.has(me.0), Ordering::Release);
    }
    sample::begin(look.local);
}

/// Is the memory of this rank looked at?
fn owns() -> bool {
    OWN.load(Ordering::Relaxed)
}

pub fn listen() {
    LISTENING.store(true, Ordering::Release);
}

pub fn stop() {
    LISTENING.store(false, Ordering::Release);
}

fn hull(lo: u64, hi: u64) {
    sample::more_is_shared();
    LOW.fetch_min(lo, Ordering::Relaxed);
    HIGH.fetch_max(hi, Ordering::Relaxed);
    let (first, last) = (lo >> PAGE, (hi - 1) >> PAGE);
    (first..=last.min(first + PAGES.len() as u64)).for_each(|number| page(number).store(1, Ordering::Relaxed));
}

/// A part of a window that this rank can load from and store to.
pub fn watch(base: u64, size: u64, owner: Rank, window: Window) {
    watch_other(base, size, owner, window, 0);
}

/// Memory of another rank that this one has mapped; `offset`: where it lies in the owner's part.
pub fn watch_other(base: u64, size: u64, owner: Rank, window: Window, offset: u64) {
    let looked_at = OWNERS.lock().unwrap_or_else(std::sync::PoisonError::into_inner).has(owner.0);
    let mut ranges = ranges();
    if looked_at && size > 0 && !ranges.windows.iter().any(|range| range.lo == base && range.owner == owner) {
        ranges.windows.push(Watched { lo: base, hi: base + size, owner, window, offset });
        hull(base, base + size);
    }
}

/// How much of the watched memory around an address lies before and after it.
pub fn size_around(address: u64) -> Option<(u64, u64)> {
    let ranges = ranges();
    let range = ranges.windows.iter().find(|range| range.lo <= address && address < range.hi)?;
    Some((address - range.lo, range.hi - address))
}

/// The window at that address is gone; returns how large it was.
pub fn forget(base: u64) -> u64 {
    let mut ranges = ranges();
    let size = ranges.windows.iter().find(|range| range.lo == base).map_or(0, |range| range.hi - range.lo);
    ranges.windows.retain(|range| range.lo != base);
    size
}

/// A buffer that an operation reads or writes until it is completed.
pub fn pending(buffer: &Buffer) {
    for piece in &buffer.pieces {
        let lo = buffer.address.wrapping_add_signed(piece.offset);
        let last = piece.stride.max(0) as u64 * u64::from(piece.count - 1);
        pending_bytes(lo, lo + last + piece.len);
    }
}

/// The same, of one piece.
pub fn pending_bytes(lo: u64, hi: u64) {
    if !owns() {
        return;
    }
    let mut ranges = ranges();
    if ranges.pending.get(&lo).is_none_or(|known| *known < hi) {
        ranges.add_pending(lo, hi);
        hull(lo, hi);
    }
}

/// How many such buffers have been forgotten.
pub fn forgotten() -> u64 {
    FORGOTTEN.load(Ordering::Relaxed)
}

/// Is a byte of this memory part of a window, or was it given to an operation?
pub fn is_shared(start: u64, len: u64) -> bool {
    let end = start + len;
    if start >= HIGH.load(Ordering::Relaxed) || end <= LOW.load(Ordering::Relaxed) {
        return false;
    }
    let ranges = ranges();
    ranges.windows.iter().any(|range| start < range.hi && range.lo < end) || ranges.pending_at(start, end).is_some()
}

/// The program is about to load or store.
pub fn access(pc: u64, address: u64, len: u32, write: bool) {
    if sample::active() && !sample::takes(pc) {
        return;
    }
    let end = address + u64::from(len);
    let outside = address >= HIGH.load(Ordering::Relaxed)
        || end <= LOW.load(Ordering::Relaxed)
        || len == 0
        || !may_be_watched(address, end);
    if outside && sample::active() {
        sample::touched_nothing(pc);
    }
    if outside && !super::threads::several() {
        return;
    }
    let several = super::threads::several();
    if several {
        super::threads::sections::touch(address, u64::from(len), write);
    } else if !super::steer::active() && recent::covers(pc, address, end, write) {
        return;
    }
    if !LISTENING.load(Ordering::Acquire) || INSIDE.try_with(|inside| inside.replace(true)).unwrap_or(true) {
        return;
    }
    let found = {
        let ranges = ranges();
        let window = ranges.windows.iter().find(|range| address < range.hi && range.lo < end).copied();
        (window, ranges.pending_at(address, end))
    };
    let seen = with(|state| {
        let (owner, place) = match found {
            (Some(range), _) if range.owner != state.me => {
                let bytes = (range.offset + address - range.lo) as i64;
                (range.owner, Place::Window { window: range.window, units: 0, bytes })
            }
            (Some(_), _) | (None, Some(_)) => (state.me, Place::Address(address)),
            // Another strand may hand it to an operation later.
            (None, None) if several && !super::threads::is_own(address) => (state.me, Place::Address(address)),
            (None, None) => return None,
        };
        recent::take(pc).into_iter().for_each(|untold| state.tell(untold));
        let site = state.site(pc);
        state.local(site, (owner, place), address, u64::from(len), write);
        if let (Some(range), false, true) = (found.0, write, len <= 8)
            && range.owner == state.me
            && (range.lo..range.hi).contains(&(address + u64::from(len) - 1))
        {
            state.polled(pc, range.window, address, u64::from(len));
        }
        let watched = found.0.map(|range| range.hi).or(found.1).filter(|_| owner == state.me && !several);
        if let Some(watched) = watched {
            recent::remember(pc, (address, end), write, watched);
        }
        let named = match place {
            Place::Address(address) => address,
            Place::Window { bytes, .. } => bytes as u64,
        };
        Some((site, state.calls(), named))
    });
    if let (Some(Some((site, calls, named))), true) = (seen, super::steer::active()) {
        super::steer::local(site, calls, (address, named), len);
    }
    let _ = INSIDE.try_with(|inside| inside.set(false));
}

macro_rules! hooks {
    ($($read:ident $write:ident $len:literal;)*) => {$(
        unsafe extern "C" fn $read(address: u64) {
            access(caller!(), address, $len, false);
        }
        unsafe extern "C" fn $write(address: u64) {
            access(caller!(), address, $len, true);
        }
    )*};
}
hooks! {
    read1 write1 1;
    read2 write2 2;
    read4 write4 4;
    read8 write8 8;
    read16 write16 16;
}

unsafe extern "C" fn read_range(address: u64, len: u64) {
    access(caller!(), address, len.min(u64::from(u32::MAX)) as u32, false);
}

unsafe extern "C" fn write_range(address: u64, len: u64) {
    access(caller!(), address, len.min(u64::from(u32::MAX)) as u32, true);
}

unsafe extern "C" fn copy(to: u64, from: u64, len: u64) -> u64 {
    let pc = caller!();
    access(pc, from, len.min(u64::from(u32::MAX)) as u32, false);
    access(pc, to, len.min(u64::from(u32::MAX)) as u32, true);
    // SAFETY: the program's own call; overlapping memory is allowed in one of the two it stands for.
    unsafe { libc::memmove(to as *mut _, from as *const _, len as usize) };
    to
}

unsafe extern "C" fn fill(to: u64, byte: i32, len: u64) -> u64 {
    access(caller!(), to, len.min(u64::from(u32::MAX)) as u32, true);
    // SAFETY: the program's own call.
    unsafe { libc::memset(to as *mut _, byte, len as usize) };
    to
}

/// The function for a hook of the compilers.
fn hook(name: &str) -> Option<usize> {
    let name = name.strip_prefix("__tsan_")?;
    let name = name.strip_suffix("_pc").unwrap_or(name);
    match name {
        "memcpy" | "memmove" => return Some(copy as *const () as usize),
        "memset" => return Some(fill as *const () as usize),
        "read_range" => return Some(read_range as *const () as usize),
        "write_range" => return Some(write_range as *const () as usize),
        "func_entry" if sample::asked() => return Some(sample::entered as *const () as usize),
        "func_exit" if sample::asked() => return Some(sample::left as *const () as usize),
        _ => {}
    }
    if let Some(atomic) = name.strip_prefix("atomic") {
        return super::atomics::hook(atomic);
    }
    let name = name.strip_prefix("unaligned_").unwrap_or(name);
    let name = name.strip_prefix("volatile_").unwrap_or(name);
    let hooks: [(&str, usize); 15] = [
        ("read1", read1 as *const () as usize),
        ("read2", read2 as *const () as usize),
        ("read4", read4 as *const () as usize),
        ("read8", read8 as *const () as usize),
        ("read16", read16 as *const () as usize),
        ("write1", write1 as *const () as usize),
        ("write2", write2 as *const () as usize),
        ("write4", write4 as *const () as usize),
        ("write8", write8 as *const () as usize),
        ("write16", write16 as *const () as usize),
        ("read_write1", write1 as *const () as usize),
        ("read_write2", write2 as *const () as usize),
        ("read_write4", write4 as *const () as usize),
        ("read_write8", write8 as *const () as usize),
        ("read_write16", write16 as *const () as usize),
    ];
    hooks.iter().find(|(known, _)| *known == name).map(|(_, function)| *function)
}

/// A module of the program that was built with the hooks offers its table.
///
/// # Safety
/// Called by the stub archive: `count` slots, each with its name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __reweave_register(
    table: *mut usize,
    names: *const *const libc::c_char,
    count: usize,
    _module: *const u8,
) -> i32 {
    INSTRUMENTED.store(true, Ordering::Relaxed);
    super::memory::watch_module(table as u64);
    for number in 0..count {
        // SAFETY: as the archive promises.
        unsafe {
            let name = std::ffi::CStr::from_ptr(names.add(number).read()).to_string_lossy();
            if let Some(function) = hook(&name) {
                table.add(number).write(function);
            }
        }
    }
    0
}
