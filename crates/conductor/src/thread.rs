//! The thread table's rows, in groups by who may touch them.
//!
//! A row is shared: everybody who may look at it has a `&Thread`. What only the holder of the token touches, or whoever
//! has found the token free under the spin lock, is a [`Cell`]; a `&Thread` for that comes from a
//! [`Token`](crate::Token) or an election and cannot outlive it. What others touch as well is a [word](crate::words).

use crate::interrupts::InterruptSet;
use crate::policy::Next;
use crate::repeats::Moment;
use crate::words::{Flag, Long, StatusWord, Word};
use reweave_model::BlockedOn;
use std::cell::Cell;

pub const NO_THREAD: u32 = u32::MAX;
/// No thread's id, and not what the holder is when nobody has the token.
const NOBODY: u32 = NO_THREAD - 1;
/// A deadline that never comes.
pub const NEVER: u64 = u64::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Status {
    /// Wants the token (or holds it).
    Ready = 0,
    /// Waits for something the core models; see [`Wait`].
    Blocked = 1,
    /// Runs without the token: in a call that may block, or the watchdog took it.
    Outside = 2,
    Ended = 3,
}

/// What a replay knows from the recorded run about a wait for the world outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordedWait {
    Unknown,
    /// Ready when the schedule comes to it.
    Ready,
    TimesOut,
}

/// One thread of the target. `R` is the front end's part.
#[repr(C)]
pub struct Thread<R> {
    pub own: Own,
    pub id: u32,
    pub(crate) slot: u32,
    pub slice: Slice,
    pub scheduling: Scheduling,
    pub wait: Wait,
    pub replay: Replayed,
    /// Interruptions that are to be delivered when the thread next runs; they end an interruptible wait.
    pub interrupts: InterruptSet,
    /// Name across runs: index of the parent, and which child of it.
    pub parent: u32,
    pub nth: u32,
    pub row: R,
}

/// The per-access hot set. Touched by the thread itself while it holds the token; the first three also without it.
/// Others write there only on behalf of a thread that cannot run: when it gets the token, and when the watchdog takes
/// it away.
#[repr(C)]
pub struct Own {
    /// Steps left in this slice. 0 sends the next hook into the slow path.
    pub budget: Word,
    /// Inside the runtime: hooks on this thread do nothing.
    pub inside: Word,
    /// What the holder must be for an access to be recorded at once: the thread, or nobody while the program asks for
    /// some accesses to be ignored. Comparing with this instead of the thread's id makes ignoring free for everybody
    /// else.
    // invariant: the thread's id exactly if `ignored` is all 0
    gate: Word,
    /// The write record whose value is filled in at the next hook, or null; its address and size.
    pub(crate) pending: Cell<*mut u64>,
    pub(crate) pending_addr: Cell<u64>,
    pub(crate) pending_size: Cell<u32>,
    /// How often the program asked for reads and writes to be ignored.
    ignored: Cell<[u32; 2]>,
    /// Stack id and chunk number that records should show, and those last written.
    pub(crate) stack_wanted: Cell<u64>,
    pub(crate) stack_said: Cell<u64>,
    pub moment: Moment,
}

/// How far the thread has come. Touched by the holder of the token; `size` by an interruption of the thread, too.
pub struct Slice {
    /// Steps of this slice: those done and those left.
    pub size: Word,
    /// Steps of slices that are over, and those that only say that the thread has to wait.
    pub(crate) done: Cell<u64>,
    pub(crate) waits: Cell<u64>,
    /// Steps of the slice that come after a stop: for the debugger, or for an interruption.
    pub(crate) after_stop: Cell<u32>,
    /// It has just done its last step, and nothing since.
    pub(crate) at_once: Cell<bool>,
    /// It has only accessed memory in this slice.
    pub(crate) quiet: Cell<bool>,
}

/// What the scheduler knows about the thread.
pub struct Scheduling {
    /// Changed by the thread itself or by whoever decides who runs, both under the spin lock unless the thread holds
    /// the token.
    pub status: StatusWord,
    /// The system's id; 0: not known yet. Set by the thread itself.
    pub os: Word,
    /// It is about to end the process.
    pub exiting: Cell<bool>,
    /// The slice must not end while this is not 0.
    pub no_preempt: Cell<u32>,
    /// What it is about to do, as far as it has said.
    pub next: Cell<Next>,
    pub(crate) children: Cell<u32>,
}

/// What a blocked thread waits for. Set by the thread before it waits, answered by the holder of the token. `on` is
/// also read by the waiting thread without the token (`await_turn`): it alone writes it, and not while it waits.
pub struct Wait {
    pub on: Cell<BlockedOn>,
    pub object: Cell<u64>,
    /// The mutex to take back, for a wait on a condition; else the front end's.
    pub second: Cell<u64>,
    /// Read by the waiting thread itself, without the token.
    pub deadline: Long,
    /// Up to which step its deadline only passes when nobody else can run, and none passes before.
    pub patient: Cell<u64>,
    /// Woken by a notify or a barrier; the number of the notify.
    pub woken: Cell<bool>,
    pub notify: Cell<u32>,
    /// For a wait for the world outside: its last answer.
    pub ready: Cell<bool>,
    /// A cancellation ends it.
    pub interruptible: Cell<bool>,
    /// The thread is to end: interruptible waits are over.
    pub cancelled: Flag,
}

/// What a schedule that is followed says about the thread.
pub struct Replayed {
    /// Index in the schedule, `NO_THREAD` if unknown there.
    pub scheduled_as: Cell<u32>,
    /// The deadline of a wait that a replay waits out because the recorded run did: it holds again once the replay has
    /// left its schedule.
    pub put_aside: Cell<u64>,
    /// How its wait for the world outside ends, whatever the world says.
    pub recorded: Cell<RecordedWait>,
    /// Those of the pending interruptions that the schedule brought.
    // invariant: none that is neither pending nor on its way
    pub ordered: Cell<u64>,
    /// The [position](Thread::position) at which the schedule brings the next interruption, or `NEVER`.
    pub interrupt_at: Cell<u64>,
}

/// What a thread waits for, kept while a handler that may itself wait runs in between.
pub struct SuspendedWait {
    on: BlockedOn,
    object: u64,
    second: u64,
    deadline: u64,
    woken: Option<u32>,
    interruptible: bool,
}

impl Wait {
    pub fn suspend(&self) -> SuspendedWait {
        SuspendedWait {
            on: self.on.get(),
            object: self.object.get(),
            second: self.second.get(),
            deadline: self.deadline.get(),
            woken: self.woken.get().then(|| self.notify.get()),
            interruptible: self.interruptible.get(),
        }
    }

    /// The handler is done. One that was woken before stays woken.
    pub fn resume(&self, before: &SuspendedWait) {
        self.on.set(before.on);
        self.object.set(before.object);
        self.second.set(before.second);
        self.deadline.set(before.deadline);
        self.interruptible.set(before.interruptible);
        if let Some(notify) = before.woken {
            self.woken.set(true);
            self.notify.set(notify);
        }
    }

    /// Whether a cancellation ends it.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.get() && self.interruptible.get()
    }
}

impl Own {
    /// See [`Own::gate`].
    #[inline(always)]
    pub fn gate(&self) -> u32 {
        self.gate.get()
    }

    /// Whether records must be preceded by the thread's context.
    #[inline(always)]
    pub fn shows_stack(&self) -> bool {
        self.stack_said.get() == self.stack_wanted.get()
    }

    /// Where the stack last shown and the one to be shown are, each with the number of the chunk in its upper half: for
    /// hooks that are not compiled with this library.
    pub const fn stack_words(&self) -> (*mut u64, *mut u64) {
        (self.stack_said.as_ptr(), self.stack_wanted.as_ptr())
    }

    /// The id of the stack that records show.
    pub fn stack(&self) -> u32 {
        self.stack_wanted.get() as u32
    }

    /// Where the value of the announced write goes, the write's address and its size. Null: none is announced.
    #[inline(always)]
    pub fn announced(&self) -> (*mut u64, u64, u32) {
        (self.pending.get(), self.pending_addr.get(), self.pending_size.get())
    }

    pub fn ignores(&self, write: bool) -> bool {
        self.ignored.get()[usize::from(write)] != 0
    }
}

impl<R> Thread<R> {
    pub(crate) fn new(id: u32, slot: u32, parent: u32, nth: u32, row: R) -> Self {
        Self {
            own: Own {
                budget: Word::new(0),
                inside: Word::new(0),
                gate: Word::new(id),
                pending: Cell::new(std::ptr::null_mut()),
                pending_addr: Cell::new(0),
                pending_size: Cell::new(0),
                ignored: Cell::new([0; 2]),
                stack_wanted: Cell::new(0),
                stack_said: Cell::new(u64::MAX),
                moment: Moment::default(),
            },
            id,
            slot,
            slice: Slice {
                size: Word::new(0),
                done: Cell::new(0),
                waits: Cell::new(0),
                after_stop: Cell::new(0),
                at_once: Cell::new(false),
                quiet: Cell::new(false),
            },
            scheduling: Scheduling {
                status: StatusWord::new(Status::Ready),
                os: Word::new(0),
                exiting: Cell::new(false),
                no_preempt: Cell::new(0),
                next: Cell::new(Next::UNKNOWN),
                children: Cell::new(0),
            },
            wait: Wait {
                on: Cell::new(BlockedOn::Sleep),
                object: Cell::new(0),
                second: Cell::new(0),
                deadline: Long::new(NEVER),
                patient: Cell::new(0),
                woken: Cell::new(false),
                notify: Cell::new(0),
                ready: Cell::new(false),
                interruptible: Cell::new(false),
                cancelled: Flag::new(false),
            },
            replay: Replayed {
                scheduled_as: Cell::new(NO_THREAD),
                put_aside: Cell::new(NEVER),
                recorded: Cell::new(RecordedWait::Unknown),
                ordered: Cell::new(0),
                interrupt_at: Cell::new(NEVER),
            },
            interrupts: InterruptSet::new(),
            parent,
            nth,
            row,
        }
    }

    pub fn status(&self) -> Status {
        self.scheduling.status.get()
    }

    pub(crate) fn is_blocked(&self) -> bool {
        self.status() == Status::Blocked
    }

    /// Whether it waits for the world outside.
    pub(crate) fn waits_outside(&self) -> bool {
        self.is_blocked() && self.wait.on.get() == BlockedOn::Descriptor
    }

    /// Whether real time or the world outside can end its wait.
    pub(crate) fn looks_outside(&self) -> bool {
        self.is_blocked() && (self.wait.on.get() == BlockedOn::Descriptor || self.wait.deadline.get() != NEVER)
    }

    /// Steps of this slice that are done.
    pub(crate) fn steps_of_slice(&self) -> u32 {
        let size = self.slice.size.get();
        size - self.own.budget.get().min(size)
    }

    /// How far it has come, in steps of its own. Waiting is left out: in another order of threads it may not have to.
    pub fn position(&self) -> u64 {
        self.slice.done.get() + u64::from(self.steps_of_slice()) - self.slice.waits.get()
    }

    /// Whether one of the pending interruptions was brought by the schedule.
    pub(crate) fn has_ordered_interrupt(&self) -> bool {
        self.interrupts.bits() & self.replay.ordered.get() != 0
    }

    /// Starts or ends a part whose reads or writes are not recorded; parts nest.
    pub fn ignore(&self, writes: bool, begin: bool) {
        let mut ignored = self.own.ignored.get();
        let count = &mut ignored[usize::from(writes)];
        *count = if begin { *count + 1 } else { count.saturating_sub(1) };
        self.own.ignored.set(ignored);
        self.own.gate.set(if ignored == [0; 2] { self.id } else { NOBODY });
    }
}
