//! The thread table's rows.

use crate::policy::Next;
use reweave_model::BlockedOn;
use std::sync::atomic::{AtomicU64, Ordering};

pub const NO_THREAD: u32 = u32::MAX;
/// No thread's id, and not what the holder is when nobody has the token.
const NOBODY: u32 = NO_THREAD - 1;
/// A deadline that never comes.
pub const NEVER: u64 = u64::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Wants the token (or holds it).
    Ready,
    /// Waits for something the core models; see `Thread::{on, object, deadline}`.
    Blocked,
    /// Runs without the token: in a call that may block, or revoked by the watchdog.
    Outside,
    Ended,
}

/// What a replay knows about a wait for a descriptor from the recorded run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Foretold {
    Nothing,
    /// Ready when the schedule comes to it.
    Ready,
    TimeRunsOut,
}

/// One thread of the target. The first fields are the per-access hot set.
#[repr(C)]
pub struct Thread {
    pub id: u32,
    /// Steps left in this slice. 0 sends the next hook into the slow path.
    pub budget: u32,
    /// The write record whose value is filled in at the next hook, or null; its address and size.
    pub pending: *mut u64,
    pub pending_addr: u64,
    pub pending_size: u32,
    /// Inside the runtime: hooks on this thread do nothing.
    pub inside: u32,
    /// What the holder must be for an access to be recorded at once: `id`, or `NOBODY` while the program asks for some
    /// accesses to be ignored. Comparing with this instead of `id` makes ignoring free for everybody else.
    // invariant: `id` exactly if `ignored` is all 0
    pub gate: u32,
    /// Stack id and chunk number that records should show, and those last written.
    pub stack_wanted: u64,
    pub stack_said: u64,

    pub slice: u32,
    /// Steps of slices that are over, and those that only say that the thread has to wait.
    pub done: u64,
    pub waits: u64,
    /// Steps of the slice that come after a stop: for the debugger, or for a signal.
    pub after_stop: u32,
    pub slot: u32,
    pub os: u32,
    pub status: Status,
    pub on: BlockedOn,
    pub object: u64,
    /// For a wait: the mutex to take back. For a futex: the value its word had.
    pub second: u64,
    pub deadline: u64,
    /// The deadline of a wait that a replay waits out because the recorded run did: it holds again once the replay has left its
    /// schedule.
    pub put_aside: u64,
    /// How its wait for a descriptor ends, whatever the kernel says.
    pub foretold: Foretold,
    /// Woken by a notify, futex wake or barrier; the number of the notify.
    pub woken: bool,
    pub notify: u32,
    /// Signals to deliver when the thread next runs; makes an interruptible wait end.
    pub signals: SignalSet,
    /// Those of them that the schedule being replayed brought.
    // invariant: none that is not in `signals` or on its way
    pub ordered: u64,
    /// Signals that the scheduler has sent for real, because the thread is in a call.
    pub expected: SignalSet,
    /// The [position](Thread::position) at which the schedule brings the next signal, or `NEVER`.
    pub signal_at: u64,
    pub interruptible: bool,
    pub cancelled: bool,
    /// The program has turned cancellation off for this thread.
    pub cancel_off: bool,
    /// For descriptors: the answer of the last poll.
    pub descriptor_ready: bool,
    pub no_preempt: u32,
    /// How often the program asked for reads and writes to be ignored.
    pub ignored: [u32; 2],
    /// Outside in a call that may block: a signal handler may take the token in place.
    pub in_call: bool,

    /// What it is about to do, as far as it has said.
    pub next: Next,

    /// Name across runs: index of the parent, and which child of it.
    pub parent: u32,
    pub nth: u32,
    pub children: u32,
    /// Index in the schedule being replayed, `NO_THREAD` if unknown there.
    pub scheduled_as: u32,
    /// It is about to end the process.
    pub exiting: bool,
    /// Front end's own data.
    pub user: *mut u8,
}

/// Numbers of signals. Atomic, since a signal handler of the thread itself adds to it while the holder of the token may, too.
#[derive(Debug, Default)]
pub struct SignalSet(AtomicU64);

impl SignalSet {
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    const fn bit(number: u32) -> u64 {
        1 << (number - 1)
    }

    pub fn insert(&self, number: u32) {
        self.0.fetch_or(Self::bit(number), Ordering::Relaxed);
    }

    /// Whether it was there.
    pub fn remove(&self, number: u32) -> bool {
        self.0.fetch_and(!Self::bit(number), Ordering::Relaxed) & Self::bit(number) != 0
    }

    pub fn contains(&self, number: u32) -> bool {
        self.bits() & Self::bit(number) != 0
    }

    pub fn is_empty(&self) -> bool {
        self.bits() == 0
    }

    /// The lowest number, if there is any.
    pub fn first(&self) -> Option<u32> {
        let bits = self.bits();
        (bits != 0).then(|| bits.trailing_zeros() + 1)
    }

    /// Number 1 is the lowest bit.
    pub fn bits(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Thread {
    /// Whether a cancellation ends its wait.
    pub const fn cancellable(&self) -> bool {
        self.cancelled && self.interruptible && !self.cancel_off
    }

    /// How far it has come, in steps of its own. Waiting is left out: in another order of threads it may not have to.
    pub const fn position(&self) -> u64 {
        self.done + (self.slice - self.budget) as u64 - self.waits
    }

    pub const fn new(id: u32, slot: u32, parent: u32, nth: u32) -> Self {
        Self {
            id,
            budget: 0,
            pending: std::ptr::null_mut(),
            pending_addr: 0,
            pending_size: 0,
            inside: 0,
            gate: id,
            stack_wanted: 0,
            stack_said: u64::MAX,
            slice: 0,
            done: 0,
            waits: 0,
            after_stop: 0,
            slot,
            os: 0,
            status: Status::Ready,
            on: BlockedOn::Sleep,
            object: 0,
            second: 0,
            deadline: NEVER,
            put_aside: NEVER,
            foretold: Foretold::Nothing,
            woken: false,
            notify: 0,
            signals: SignalSet::new(),
            ordered: 0,
            expected: SignalSet::new(),
            signal_at: NEVER,
            interruptible: false,
            cancelled: false,
            cancel_off: false,
            descriptor_ready: false,
            no_preempt: 0,
            ignored: [0; 2],
            in_call: false,
            next: Next::UNKNOWN,
            parent,
            nth,
            children: 0,
            scheduled_as: NO_THREAD,
            exiting: false,
            user: std::ptr::null_mut(),
        }
    }

    /// Starts or ends a part whose reads or writes are not recorded; parts nest.
    pub fn ignore(&mut self, writes: bool, begin: bool) {
        let count = &mut self.ignored[usize::from(writes)];
        *count = if begin { *count + 1 } else { count.saturating_sub(1) };
        self.gate = if self.ignored == [0; 2] { self.id } else { NOBODY };
    }

    pub const fn ignores(&self, write: bool) -> bool {
        self.ignored[write as usize] != 0
    }
}
