//! The memory that the target and the `reweave` process share: configuration, the state of the token, and a ring
//! of chunks for the trace. The recorder's other half lives in the `reweave` process so that a killed target
//! loses nothing and needs no helper thread.

use crate::aliases::Aliases;
use std::sync::atomic::{AtomicU32, AtomicU64};

pub const MAGIC: u32 = u32::from_le_bytes(*b"RWSH");
/// Target and launcher come from one build, so the layout needs no compatibility, only a check.
pub const VERSION: u32 = 9;

pub const CHUNKS: usize = 8;
pub const CHUNK_BYTES: usize = 1 << 20;
/// Pieces of code that the target can be told to leave out.
pub const MAX_IGNORED: usize = 64;
/// Threads that may be alive at once.
pub const SLOTS: usize = 8192;

pub const POLICY_QUANTUM: u32 = 0;
pub const POLICY_RANDOM: u32 = 1;
pub const POLICY_PCT: u32 = 2;
pub const POLICY_REPLAY: u32 = 3;
pub const POLICY_TURNS: u32 = 4;

/// Replay left the schedule: why (0: it did not).
pub const DIVERGED_NO: u32 = 0;
/// The thread due is blocked or does not exist.
pub const DIVERGED_NOT_ENABLED: u32 = 1;
/// The thread due stopped before its steps were done.
pub const DIVERGED_SHORT: u32 = 2;
/// An outside input was asked for that was not recorded there.
pub const DIVERGED_INPUT: u32 = 3;

#[repr(C)]
pub struct Header {
    pub magic: u32,
    pub version: u32,
    // Configuration, written by the launcher before the target starts.
    pub policy: u32,
    pub quantum: u32,
    pub seed: u64,
    /// PCT: number of change points and expected length of the run in steps.
    pub pct_depth: u32,
    pub launcher_pid: u32,
    pub pct_length: u64,
    /// Turns: a thread that runs only when nobody else can, or [`NO_THREAD`](crate::NO_THREAD); whether they are
    /// measured in writes.
    pub victim: u32,
    pub by_writes: u32,
    /// And how many threads are to be there before they begin.
    pub crowd: u32,
    /// Wall clock at the start of the recorded run, nanoseconds since 1970.
    pub start_realtime: u64,
    /// Steps after which the target stops itself for the debugger; 0: never.
    pub stop_at: u64,
    /// Not 0: accesses that only repeat what their thread did may be left out (see [`repeats`](crate::repeats)).
    pub skip_repeats: u32,
    /// Whether accesses that are as foreseen are left out (see [`foreseen`](crate::foreseen)): 0 never, 1 where it pays,
    /// 2 always.
    pub foresee: u32,
    /// Quantum: slices that a thread gets at a stretch beyond the first, as long as it only accesses memory.
    pub quiet_slices: u32,
    /// Not 0: threads run free between synchronizations (see [`free`](crate::free)).
    pub free: u32,
    /// Where functions begin and end whose accesses, with those of what they call, are left out: the first so many.
    pub ignored_count: u32,
    pub ignored: [[u64; 2]; MAX_IGNORED],
    /// Bytes of the encoded schedule behind the chunks.
    pub schedule_bytes: u64,

    // The token.
    /// Thread that holds the token, `NO_THREAD` if none.
    pub holder: AtomicU32,
    /// Kernel's id of that thread, for the watchdog.
    pub holder_os: AtomicU32,
    /// Threads that wait for the token and could run.
    pub waiting: AtomicU32,
    /// The watchdog asks to take the token from this thread if the trace is still at `revoke_at`; `NO_THREAD`: no
    /// request.
    pub revoke: AtomicU32,
    pub revoke_at: AtomicU64,
    /// Set by the target: for so many milliseconds a holder may record nothing before the watchdog looks at it; 0: as
    /// the watchdog thinks fit. For front ends under which a holder waits now and then although nobody else could run.
    pub patience: AtomicU32,
    /// The watchdog gives up waiting for a thread that replay wants.
    pub give_up: AtomicU32,
    /// No thread can ever move again.
    pub hang: AtomicU32,
    /// The program has ended by itself (exit, exec): nothing more will come.
    pub ended: AtomicU32,
    pub diverged: AtomicU32,
    /// Segment and thread of the divergence.
    pub diverged_segment: AtomicU32,
    pub diverged_thread: AtomicU32,
    /// Active testing: threads paused, let go in vain, and meetings.
    pub pauses: AtomicU32,
    pub thrashes: AtomicU32,
    pub met: AtomicU32,
    /// Highest slot in use plus one.
    pub slots: AtomicU32,

    // The ring.
    /// Chunks published by the target, ever.
    pub filled: AtomicU32,
    /// Chunks written out by the launcher, ever.
    pub drained: AtomicU32,
    /// The launcher takes no more (disk full, size limit): the target goes on without recording.
    pub discard: AtomicU32,
    /// The target waited for the launcher this often.
    pub stalls: AtomicU32,
    /// And so long, in nanoseconds.
    pub stalled: AtomicU64,
    /// Bytes written so far in the chunk being filled.
    pub cursor: AtomicU64,
    /// Offset in that chunk of a write record whose value is not yet known, plus one; 0 if none.
    pub pending: AtomicU64,
    /// Offset in that chunk of the record of foreseen accesses that is being written, plus one; 0 if none.
    pub run: AtomicU64,
    /// Foreseen accesses in records that are complete, ever.
    pub foreseen: AtomicU64,
    /// Grows when the launcher has forgotten earlier accesses: they may be needed once more.
    pub forgot: AtomicU32,
    pub chunk_len: [AtomicU32; CHUNKS],
    /// Thread current at the start of the chunk.
    pub chunk_thread: [AtomicU32; CHUNKS],
    /// Memory at a second address.
    pub aliases: Aliases,

    /// One futex word per thread slot.
    pub wake: [AtomicU32; SLOTS],
}

const fn round_up(n: usize) -> usize {
    n.div_ceil(4096) * 4096
}

pub const CHUNKS_OFFSET: usize = round_up(size_of::<Header>());
pub const SCHEDULE_OFFSET: usize = CHUNKS_OFFSET + CHUNKS * CHUNK_BYTES;

/// The mapped region. Both sides use the same accessors.
#[derive(Clone, Copy)]
pub struct Region {
    base: *mut u8,
}

// SAFETY: the region is shared memory by design; every field that both sides change is atomic.
unsafe impl Send for Region {}
// SAFETY: see above.
unsafe impl Sync for Region {}

impl Region {
    pub const fn size(schedule_bytes: usize) -> usize {
        SCHEDULE_OFFSET + round_up(schedule_bytes)
    }

    /// # Safety
    /// `base` is a mapping of at least `Region::size(header.schedule_bytes)` bytes that stays. At most one
    /// [`Conductor`](crate::Conductor) is ever made with it: who holds the token is said there, for one process.
    pub const unsafe fn new(base: *mut u8) -> Self {
        Self { base }
    }

    pub fn header(&self) -> &'static Header {
        // SAFETY: by the contract of `new`; the mapping stays.
        unsafe { &*self.base.cast::<Header>() }
    }

    /// # Safety
    /// Only before the target runs.
    pub unsafe fn header_mut(&self) -> &'static mut Header {
        // SAFETY: by the contract of `new` and of this function.
        unsafe { &mut *self.base.cast::<Header>() }
    }

    pub fn chunk(&self, sequence: u32) -> *mut u8 {
        // SAFETY: inside the mapping.
        unsafe { self.base.add(CHUNKS_OFFSET + (sequence as usize % CHUNKS) * CHUNK_BYTES) }
    }

    pub fn schedule(&self) -> *mut u8 {
        // SAFETY: inside the mapping.
        unsafe { self.base.add(SCHEDULE_OFFSET) }
    }
}

/// Environment of a recorded program: where the launcher listens.
pub const ENV_SOCKET: &str = "REWEAVE_SOCKET";
/// Set to the launcher's pid when its direct child is not built with `reweave cc` and is to be recorded all the same,
/// at the level of locks.
pub const ENV_PLAIN: &str = "REWEAVE_PLAIN";

/// What a process of the target sends when it starts (or forks) and wants to be recorded.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Hello {
    pub magic: u32,
    pub version: u32,
    pub pid: u32,
    pub parent: u32,
    /// 1: built with `reweave cc`.
    pub instrumented: u32,
    /// 1: the child of a fork; 0: a fresh program.
    pub forked: u32,
}

/// The launcher's answer, sent with the descriptor of the shared region (none if refused).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Welcome {
    pub magic: u32,
    /// 0: the region comes along; anything else: run without recording.
    pub refused: u32,
    pub region_bytes: u64,
}

const _: () = assert!(size_of::<Hello>() == 24 && size_of::<Welcome>() == 16);
