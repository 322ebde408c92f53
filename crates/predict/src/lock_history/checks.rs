//! The seventeen checks of the paper's Table III: from a pair of places, where to go on.
//!
//! A pair of places is that of two threads *before* the lock events there: what is done next is the event itself (the
//! paper's `next(a) is disabled` of LCC3 means this one). At the target there is no next event but the point that is
//! asked about.
//!
//! Deviations, all decided by the brute-force oracle:
//! - RC4 and RC5 look for an acquisition of the lock among the events before the target. Table III says release, and
//!   counts the event at the target; then it would not give the paper's own Table II. What is not acquired any more is
//!   not released either.
//! - HB steps along an order even if a lock that the other thread holds is in the way. Here that is a deadlock (LCC1):
//!   the one thread waits for the lock, the other for the thread.
//! - Check 7 comes first, and asks for the whole way to the target at once, since the other threads stand still. In the
//!   paper's place, 2 to 4 lead past what the others hold or have yet to do.
//! - Locks may be shared. Where the paper says "another lock", this says "an acquisition that excludes it".

use super::thread::{Held, LockEvent, Place, ThreadHistory};
use super::versions::Versions;
use crate::linear::Thread;
use reweave_model::EventId;

/// Two places, one in each of the two threads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Pair {
    pub a: Place,
    pub b: Place,
}

impl Pair {
    #[cfg(feature = "testing")]
    pub fn new(a: u32, b: u32) -> Self {
        Self { a: Place(a), b: Place(b) }
    }
    pub fn after_a(self) -> Self {
        Self { a: Place(self.a.0 + 1), ..self }
    }
    pub fn after_b(self) -> Self {
        Self { b: Place(self.b.0 + 1), ..self }
    }
}

/// The checks, in the paper's order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Check {
    /// 1 VC: the pair was visited before.
    Revisit,
    /// 2 TC: this is the target.
    Terminal,
    /// 3 HB: what the first thread does next precedes what the second does.
    FirstPrecedes,
    /// 4 HB, the other way round.
    SecondPrecedes,
    /// 5 LCC1: each waits for the other.
    Deadlock,
    /// 6 LCC2: one waits for a lock that the other holds at the target.
    Stall,
    /// 7 Strategy II: something on the way is held by a thread that stands still, or waits for it.
    Others,
    /// 8 LCC3: the first is at the target, or waits for a lock of the second.
    FirstWaits,
    /// 9 LCC4: the other way round.
    SecondWaits,
    /// 10 RC1: the second releases, which never hurts.
    SecondReleases,
    /// 11 RC2: the first releases.
    FirstReleases,
    /// 12 RC3: both release.
    BothRelease,
    /// 13 RC4: the second has no use for what the first acquires.
    SecondHasNoUse,
    /// 14 RC5: the first has no use for what the second acquires.
    FirstHasNoUse,
    /// 15 RC6: the first keeps what it acquires, so that the second must have had it before.
    FirstKeeps,
    /// 16 RC7: the second keeps it.
    SecondKeeps,
    /// 17: both ways must be tried.
    Default,
}

impl Check {
    #[cfg(feature = "testing")]
    /// The paper's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Revisit => "VC",
            Self::Terminal => "TC",
            Self::FirstPrecedes | Self::SecondPrecedes => "HB",
            Self::Deadlock => "LCC1",
            Self::Stall => "LCC2",
            Self::Others => "Strategy-II",
            Self::FirstWaits => "LCC3",
            Self::SecondWaits => "LCC4",
            Self::SecondReleases => "RC1",
            Self::FirstReleases => "RC2",
            Self::BothRelease => "RC3",
            Self::SecondHasNoUse => "RC4",
            Self::FirstHasNoUse => "RC5",
            Self::FirstKeeps => "RC6",
            Self::SecondKeeps => "RC7",
            Self::Default => "Default",
        }
    }

    pub const fn is_lcc(self) -> bool {
        matches!(self, Self::Deadlock | Self::Stall | Self::FirstWaits | Self::SecondWaits)
    }

    pub const fn is_rc(self) -> bool {
        matches!(
            self,
            Self::SecondReleases
                | Self::FirstReleases
                | Self::BothRelease
                | Self::SecondHasNoUse
                | Self::FirstHasNoUse
                | Self::FirstKeeps
                | Self::SecondKeeps
        )
    }
}

/// Where to go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    Success,
    Fail,
    First,
    Second,
    Both,
    /// Each of the two alone; the second thread first.
    Either,
}

/// One side of a question.
#[derive(Clone, Copy)]
pub struct Side<'h> {
    pub thread: Thread,
    pub history: &'h ThreadHistory,
    pub order: &'h Versions,
    /// Where the point lies that is asked about, and which event it is.
    pub target: Place,
    pub event: EventId,
}

impl<'h> Side<'h> {
    /// What the thread does next; `None` at the target.
    fn next(&self, place: Place) -> Option<&'h LockEvent> {
        if place < self.target { self.history.at(place) } else { None }
    }

    /// Whether this next event of the other thread precedes what this one does next.
    fn follows(&self, place: Place, other: Thread, event: &LockEvent) -> bool {
        let mine = self.next(place).map_or(self.event, |next| next.event);
        event.time <= self.order.known(mine, other)
    }
}

/// A question: can the two threads be at their targets at the same time?
#[derive(Clone, Copy)]
pub struct Question<'h> {
    pub a: Side<'h>,
    pub b: Side<'h>,
    /// Something on the way needs a thread that stands still.
    pub needs_others: bool,
}

fn held(event: &LockEvent) -> Held {
    (event.lock(), event.mode())
}

impl Question<'_> {
    pub fn target(&self) -> Pair {
        Pair { a: self.a.target, b: self.b.target }
    }

    /// What the checks from 2 on say of a pair between start and target. The first one that holds decides.
    pub fn check(&self, at: Pair) -> (Check, Step) {
        if self.needs_others {
            return (Check::Others, Step::Fail);
        }
        let (a, b) = (&self.a, &self.b);
        let (next_a, next_b) = (a.next(at.a), b.next(at.b));
        if next_a.is_none() && next_b.is_none() {
            return (Check::Terminal, Step::Success);
        }
        let refused = |event: Option<&LockEvent>, by: &ThreadHistory, place| {
            event.is_some_and(|event| !event.is_release() && by.holds_against(place, held(event)))
        };
        let a_refused = refused(next_a, b.history, at.b);
        let b_refused = refused(next_b, a.history, at.a);
        let a_first = next_a.is_some_and(|event| b.follows(at.b, a.thread, event));
        let b_first = next_b.is_some_and(|event| a.follows(at.a, b.thread, event));
        match (a_first, b_first) {
            (true, _) if a_refused => return (Check::Deadlock, Step::Fail),
            (true, _) => return (Check::FirstPrecedes, Step::First),
            (_, true) if b_refused => return (Check::Deadlock, Step::Fail),
            (_, true) => return (Check::SecondPrecedes, Step::Second),
            _ => {}
        }
        if a_refused && b_refused {
            return (Check::Deadlock, Step::Fail);
        }
        if a_refused && next_b.is_none() || b_refused && next_a.is_none() {
            return (Check::Stall, Step::Fail);
        }
        let (next_a, next_b) = match (next_a, next_b) {
            (Some(next_a), Some(next_b)) if !a_refused && !b_refused => (next_a, next_b),
            (None, _) => return (Check::FirstWaits, Step::Second),
            _ if a_refused => return (Check::FirstWaits, Step::Second),
            _ => return (Check::SecondWaits, Step::First),
        };
        match (next_a.is_release(), next_b.is_release()) {
            (false, true) => return (Check::SecondReleases, Step::Second),
            (true, false) => return (Check::FirstReleases, Step::First),
            (true, true) => return (Check::BothRelease, Step::Both),
            (false, false) => {}
        }
        if !b.history.wants(at.b, b.target, held(next_a)) {
            return (Check::SecondHasNoUse, Step::First);
        }
        if !a.history.wants(at.a, a.target, held(next_b)) {
            return (Check::FirstHasNoUse, Step::Second);
        }
        if !a.history.releases(at.a, a.target, next_a.lock()) {
            return (Check::FirstKeeps, Step::Second);
        }
        if !b.history.releases(at.b, b.target, next_b.lock()) {
            return (Check::SecondKeeps, Step::First);
        }
        (Check::Default, Step::Either)
    }

    /// Whether another target may change what was said of this pair.
    pub fn depends_on_target(&self, at: Pair, check: Check) -> bool {
        use Check::{FirstHasNoUse, FirstKeeps, Others, SecondHasNoUse, SecondKeeps};
        let at_border = at.a == self.a.target || at.b == self.b.target;
        at_border || matches!(check, SecondHasNoUse | FirstHasNoUse | FirstKeeps | SecondKeeps | Others)
    }
}
