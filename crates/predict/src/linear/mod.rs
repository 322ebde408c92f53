//! Streaming analyses share one pass over the trace.
//!
//! [`Front`] turns events into a dense form: threads, words of memory, locks and channels are small numbers,
//! synchronization is reduced to locks and to [`Sync::Publish`] / [`Sync::Observe`] on channels, and a trace that
//! cannot have happened is refused. A [`Linear`] analysis takes that and returns [`Candidates`]: pairs of events, one
//! for each pair of code positions; cycles of requests for locks; misuses. What a candidate is worth (a possible race,
//! a race of the first kind, a sound one) stands in the doc of each analysis.
//!
//! Two accesses conflict if they are of different threads, share a byte, at least one writes, and not both are atomic.

mod blocks;
mod channels;
mod front;
mod hash;
mod locks;
mod locksets;
mod order;
mod pairs;
mod races;
mod threads;
mod words;
mod writes;

pub use blocks::{OpenBlock, OpenBlocks};
pub use front::{Bounds, Front};
pub use hash::{FastMap, FastSet};
pub use locksets::{LocksetId, Locksets};
pub(crate) use order::at;
pub use order::{Edges, Order, VectorClock};
pub use pairs::{Before, Candidate, Candidates, Cycle, Misused, PcId, Pcs, Way};
pub use races::{Kept, Races};
pub use writes::{LastWrites, Source as WriteSource};

use std::path::Path;
use std::time::{Duration, Instant};

use reweave_model::{Event, EventId, LockMode, ObjectId, Pc};
use reweave_trace::{Events, Growing, RawEvents, Result, Trace, WordAccess};

index!(
    /// A thread. A number is used again for a child forked by the thread that joined its last user: the two are ordered
    /// by program order, fork and join alone, so that every analysis may take them for one thread.
    Thread
);
index!(
    /// Eight aligned bytes of memory during one life of their block. Numbers are used again after [`Linear::forget`].
    Word
);
index!(
    /// A lock between its creation and its destruction.
    Lock
);
index!(
    /// What carries an order from one thread to another. Numbers are used again after [`Sync::Clear`].
    Channel
);

/// An access to memory, apart from where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    pub event: EventId,
    pub thread: Thread,
    pub pc: Pc,
    pub kind: AccessKind,
}

/// Bits: reads, writes, atomic.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AccessKind(pub u8);

impl AccessKind {
    pub const READ: Self = Self(1);
    pub const WRITE: Self = Self(2);
    pub const ATOMIC: u8 = 4;

    pub const fn reads(self) -> bool {
        self.0 & 1 != 0
    }
    pub const fn writes(self) -> bool {
        self.0 & 2 != 0
    }
    /// Whether accesses of these kinds to the same bytes by different threads conflict.
    pub const fn conflicts(self, other: Self) -> bool {
        (self.0 | other.0) & 2 != 0 && self.0 & other.0 & Self::ATOMIC == 0
    }
}

/// The bytes of a word that an access touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch {
    pub word: Word,
    /// Bit `i` is byte `i`.
    pub mask: u8,
}

/// Synchronization. An edge is *firm* if every feasible reordering keeps it; the others are as they were observed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sync {
    /// Firm.
    Fork {
        child: Thread,
    },
    /// Firm.
    Join {
        child: Thread,
    },
    Acquire {
        lock: Lock,
        mode: LockMode,
    },
    Release {
        lock: Lock,
        mode: LockMode,
    },
    /// What the thread has done is carried on, beside what is in the channel already or (`fresh`) instead of it.
    Publish {
        channel: Channel,
        fresh: bool,
        firm: bool,
    },
    Observe {
        channel: Channel,
        firm: bool,
    },
    /// C11: a relaxed store after a release fence, a relaxed load before an acquire fence.
    Copy {
        from: Channel,
        to: Channel,
        fresh: bool,
    },
    Clear {
        channel: Channel,
    },
}

impl Sync {
    /// Whether another thread can learn of the one that does it: its epoch ends here.
    pub const fn publishes(self) -> bool {
        matches!(self, Self::Fork { .. } | Self::Release { .. } | Self::Publish { .. })
    }
}

/// An operation whose outcome rests on what was done to its object before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meeting {
    /// Anything that waits, notifies, arrives, leaves, posts or takes, or is refused one, and once.
    Object(ObjectId),
    /// A try that failed, since others hold the lock.
    Refused(Lock),
}

/// Atomic blocks as the trace has them. They may lie within each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockEdge {
    Enter,
    Exit,
    /// The thread waits for others, in a block or not.
    Wait,
    /// It acquires its first lock, and releases its last one: an outermost critical section.
    Lock,
    Unlock,
}

/// An analysis in the course of one pass.
pub trait Linear {
    /// All words of one access, in ascending order.
    fn access(&mut self, access: &Access, touched: &[Touch]);

    /// This access comes soon: a chance to fetch what is needed for it from memory.
    #[inline]
    fn expect(&self, access: &Access, touch: Touch) {
        let _ = (access, touch);
    }

    /// As [`Linear::expect`], once that has been said of all accesses of a batch: what was fetched then may say where to
    /// fetch more.
    #[inline]
    fn expect_more(&self, access: &Access, touch: Touch) {
        let _ = (access, touch);
    }

    /// Accesses to one word each with nothing in between. They come together so that fetching what is kept of one goes
    /// on while the others are looked at, and a boxed analysis is called once.
    fn accesses(&mut self, batch: &[(Access, Touch)]) {
        batch.iter().for_each(|(access, touch)| self.expect(access, *touch));
        batch.iter().for_each(|(access, touch)| self.expect_more(access, *touch));
        batch.iter().for_each(|(access, touch)| self.access(access, std::slice::from_ref(touch)));
    }

    /// Words that accesses touched were left out: they count as [`Candidates::dropped`].
    fn left_out(&mut self, words: u64);

    fn sync(&mut self, event: EventId, thread: Thread, sync: Sync);

    /// Comes after all synchronization of the event. For analyses that take critical sections apart by themselves; for
    /// the others [`Linear::sync`] says it all.
    fn meet(&mut self, event: EventId, thread: Thread, meeting: Meeting) {
        let _ = (event, thread, meeting);
    }

    /// Any event of a thread that is no plain access, as it stands in the trace: comes before what it means as
    /// [`Sync`].
    fn event(&mut self, event: &Event<'_>, thread: Thread) {
        let _ = (event, thread);
    }

    /// Where atomic blocks begin and end; what ends one comes after the synchronization of the same event, the rest
    /// before.
    fn block(&mut self, event: EventId, thread: Thread, pc: Pc, edge: BlockEdge) {
        let _ = (event, thread, pc, edge);
    }

    /// The life of the word is over: its number will stand for another one.
    fn forget(&mut self, word: Word);

    /// These locks are gone and held by nobody: nothing will ever be done with them again. An analysis that keeps no
    /// trace of their numbers from here on returns true, and the numbers stand for other locks afterwards.
    fn retire(&mut self, gone: Gone<'_>) -> bool {
        let _ = gone;
        false
    }

    /// What was found since this was last asked, while the pass goes on. An analysis that knows it only at the end
    /// tells nothing. What was told may come again with [`Linear::finish`].
    fn news(&mut self) -> Candidates {
        Candidates::default()
    }

    /// What was found. The analysis is of no use afterwards.
    fn finish(&mut self) -> Candidates;

    /// What else there is to tell, after [`Linear::finish`]: counts by name.
    fn stats(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Acquisitions that may wait for each other, the earlier one first.
    fn deadlocks(&self) -> Vec<(EventId, EventId)> {
        Vec::new()
    }

    /// Orders that lead two threads to two accesses if reads may return anything. After [`Linear::finish`].
    fn ways(&self) -> Vec<Way> {
        Vec::new()
    }
}

/// Locks whose life is over.
#[derive(Clone, Copy)]
pub struct Gone<'a>(&'a [bool]);

impl Gone<'_> {
    pub fn has(self, lock: Lock) -> bool {
        self.0.get(lock.index()).copied().unwrap_or(false)
    }

    pub fn locks(self) -> impl Iterator<Item = Lock> {
        self.0.iter().zip(0..).filter(|(gone, _)| **gone).map(|(_, lock)| Lock(lock))
    }
}

/// Several analyses in one pass.
impl<L: Linear + ?Sized> Linear for Vec<Box<L>> {
    fn access(&mut self, access: &Access, touched: &[Touch]) {
        self.iter_mut().for_each(|one| one.access(access, touched));
    }
    fn accesses(&mut self, batch: &[(Access, Touch)]) {
        self.iter_mut().for_each(|one| one.accesses(batch));
    }
    fn left_out(&mut self, words: u64) {
        self.iter_mut().for_each(|one| one.left_out(words));
    }
    fn sync(&mut self, event: EventId, thread: Thread, sync: Sync) {
        self.iter_mut().for_each(|one| one.sync(event, thread, sync));
    }
    fn meet(&mut self, event: EventId, thread: Thread, meeting: Meeting) {
        self.iter_mut().for_each(|one| one.meet(event, thread, meeting));
    }
    fn event(&mut self, event: &Event<'_>, thread: Thread) {
        self.iter_mut().for_each(|one| one.event(event, thread));
    }
    fn block(&mut self, event: EventId, thread: Thread, pc: Pc, edge: BlockEdge) {
        self.iter_mut().for_each(|one| one.block(event, thread, pc, edge));
    }
    fn forget(&mut self, word: Word) {
        self.iter_mut().for_each(|one| one.forget(word));
    }
    fn retire(&mut self, gone: Gone<'_>) -> bool {
        // Everyone is asked, also after a no: those that can forget save memory.
        let mut all = true;
        for one in self {
            all &= one.retire(gone);
        }
        all
    }
    /// All together; ask each one for its own.
    fn news(&mut self) -> Candidates {
        let mut all = Candidates::default();
        self.iter_mut().for_each(|one| all.add(one.news()));
        all
    }
    /// All together; ask each one for its own.
    fn finish(&mut self) -> Candidates {
        let mut all = Candidates::default();
        self.iter_mut().for_each(|one| all.add(one.finish()));
        all
    }
}

/// Where events come from.
pub trait Source {
    fn next(&mut self) -> Result<Option<Event<'_>>>;
    /// The next event if it is an access of up to eight bytes and there is a quicker way to it than [`Source::next`].
    #[inline(always)]
    fn next_access(&mut self) -> Option<WordAccess> {
        None
    }
    /// From 0 to 1.
    fn progress(&self) -> f64;
}

impl Source for Events<'_> {
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        Events::next(self)
    }
    #[inline(always)]
    fn next_access(&mut self) -> Option<WordAccess> {
        Events::next_access(self)
    }
    fn progress(&self) -> f64 {
        Events::progress(self)
    }
}

impl Source for RawEvents<'_> {
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        Ok(RawEvents::next(self))
    }
    #[inline(always)]
    fn next_access(&mut self) -> Option<WordAccess> {
        RawEvents::next_access(self)
    }
    fn progress(&self) -> f64 {
        1.0
    }
}

/// Passes over a whole trace. Returns the number of events. `go_on` is asked now and then, with how far it is (from 0
/// to 1); if it says no, the rest is left out.
pub fn run<L: Linear + ?Sized>(trace: &Trace, analysis: &mut L, go_on: &mut dyn FnMut(f64) -> bool) -> Result<u64> {
    let front = Front::of(trace)?;
    std::thread::scope(|scope| run_on(trace.events_ahead(scope), front, analysis, go_on))
}

/// Passes over a whole text, while it is converted.
pub fn run_beside<L: Linear + ?Sized>(
    text: Growing,
    path: &Path,
    analysis: &mut L,
    go_on: &mut dyn FnMut(f64) -> bool,
) -> Result<u64> {
    run_on(Events::of_text(text), Front::of_text(path), analysis, go_on)
}

/// Events between two looks at the clock, and the time between two questions whether to go on.
const CLOCK_EVERY: u64 = 64;
const ASK_EVERY: Duration = Duration::from_millis(20);

/// Passes over events from anywhere.
pub fn run_on<L: Linear + ?Sized>(
    mut source: impl Source,
    mut front: Front,
    analysis: &mut L,
    go_on: &mut dyn FnMut(f64) -> bool,
) -> Result<u64> {
    let (mut seen, mut asked) = (0u64, Instant::now());
    loop {
        if let Some(access) = source.next_access() {
            front.access(&access, analysis)?;
        } else if let Some(event) = source.next()? {
            front.event(&event, analysis)?;
        } else {
            break;
        }
        seen += 1;
        // One event can cost as much as thousands of others, where there are many threads.
        if seen.is_multiple_of(CLOCK_EVERY) && asked.elapsed() > ASK_EVERY {
            asked = Instant::now();
            if !go_on(source.progress()) {
                break;
            }
        }
    }
    front.finish(analysis);
    Ok(seen)
}
