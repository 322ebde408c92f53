//! Where searches start: pairs that are known to be reachable, and where all other threads stand then.

use reweave_model::EventId;

use super::checks::{Pair, Question, Side};
use super::record::{Record, Snapshot};
use super::search::Search;
use super::thread::{Held, LockEvent, Place, ThreadHistory, Time, exclude};
use super::{Before, Point, Strategy};
use crate::linear::{FastMap, Thread, VectorClock};

/// Searches kept for two threads; the oldest goes.
const MAX_KNOWN: usize = 8;

/// Where two threads start from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Start {
    /// Strategy I: where both threads begin; of others nothing is assumed.
    Beginnings(Pair),
    /// Strategy II: the observed state at some moment.
    Snapshot(Snapshot),
    /// Strategy II: what precedes the beginnings of the two has happened, and nothing else.
    Past(VectorClock),
}

impl Start {
    /// The starts for a question, in the order in which they are tried.
    pub(super) fn of(record: &Record, a: Point, b: Point, strategy: Strategy) -> Vec<Self> {
        let (first, second) = (&record.threads()[a.thread.index()], &record.threads()[b.thread.index()]);
        let origin = |history| origin(history, strategy);
        match strategy {
            Strategy::One => {
                let from = |mine: &ThreadHistory, thread, other| mine.place_known_after(origin(other).get(thread));
                match (from(first, a.thread, second), from(second, b.thread, first)) {
                    (Some(a), Some(b)) => vec![Self::Beginnings(Pair { a, b })],
                    _ => Vec::new(),
                }
            }
            Strategy::Two => {
                let mut starts = Vec::new();
                if let Some(snapshot) = record.snapshot_before(a.event.min(b.event)) {
                    let after = EventId(snapshot.event.0 + 1);
                    if record.threads().iter().all(|history| history.reaches_back_to(after)) {
                        starts.push(Self::Snapshot(snapshot));
                    }
                }
                let mut past = origin(first);
                past.join(&origin(second));
                if record.keeps_all_order() && is_consistent(record, &past, a.thread, b.thread) {
                    starts.push(Self::Past(past));
                }
                starts
            }
        }
    }

    pub fn pair(&self, first: (Thread, &ThreadHistory), second: (Thread, &ThreadHistory)) -> Pair {
        let place = |(thread, history): (Thread, &ThreadHistory)| history.place_after(self.stands(thread));
        match self {
            Self::Beginnings(pair) => *pair,
            _ => Pair { a: place(first), b: place(second) },
        }
    }

    /// Up to when a thread has come.
    fn stands(&self, thread: Thread) -> Time {
        match self {
            Self::Beginnings(_) => Time(u32::MAX),
            Self::Snapshot(snapshot) => snapshot.time,
            Self::Past(past) => Time(past.get(thread)),
        }
    }

    /// The last event of a side before the first step, if there is one.
    fn event(&self, side: &Side<'_>) -> Option<EventId> {
        match self {
            Self::Snapshot(snapshot) => Some(snapshot.event),
            _ => side.order.published_by(self.stands(side.thread)),
        }
    }

    /// What happens before the first step.
    pub(super) fn before(&self, record: &Record) -> Before {
        match self {
            Self::Snapshot(snapshot) => Before::Everything(snapshot.event),
            _ => {
                let until = |at: usize| {
                    let thread = Thread(at as u32);
                    Some((thread, record.threads()[at].kept.published_by(self.stands(thread))?))
                };
                Before::Of((0..record.threads().len()).filter_map(until).collect())
            }
        }
    }
}

/// What precedes the beginning of a thread.
fn origin(history: &ThreadHistory, strategy: Strategy) -> VectorClock {
    history.origin(|history| strategy.order(history)).cloned().unwrap_or_default()
}

/// Whether all of `past`, and nothing else, can have happened, and is known.
fn is_consistent(record: &Record, past: &VectorClock, a: Thread, b: Thread) -> bool {
    let threads = || (0..record.threads().len()).map(|at| (Thread(at as u32), &record.threads()[at]));
    let active = |(thread, _): &(Thread, &ThreadHistory)| past.get(*thread) > 0;
    let known = |(thread, history): (Thread, &ThreadHistory)| history.place_known_after(past.get(thread)).is_some();
    if !threads().filter(|it| active(it) || it.0 == a || it.0 == b).all(known) {
        return false;
    }
    let tried = |(thread, history): (Thread, &ThreadHistory)| {
        let until = history.kept.published_by(Time(past.get(thread)));
        until.is_some_and(|until| history.is_refused_between(None, until))
    };
    if threads().filter(active).any(tried) {
        // Somebody else must have held the lock, and nobody knows who.
        return false;
    }
    if threads().filter(active).count() < 2 {
        // What one thread does alone nobody is in the way of.
        return true;
    }
    if threads().filter(active).any(|(_, history)| history.base() > Place(0)) {
        return false;
    }
    let events = |(thread, history): (Thread, &ThreadHistory)| {
        let until = history.place_after(Time(past.get(thread)));
        history.between(Place(0), until).map(|&event| (thread, event)).collect::<Vec<_>>()
    };
    let mut all: Vec<(Thread, LockEvent)> = threads().filter(active).flat_map(events).collect();
    all.sort_unstable_by_key(|(_, event)| event.time);
    let mut held: FastMap<u32, Vec<(Thread, reweave_model::LockMode)>> = FastMap::default();
    all.into_iter().all(|(thread, event)| {
        let holders = held.entry(event.lock().0).or_default();
        if event.is_release() {
            holders.retain(|(holder, _)| *holder != thread);
            return true;
        }
        let free = holders.iter().all(|&(holder, mode)| holder == thread || !exclude(mode, event.mode()));
        holders.push((thread, event.mode()));
        free
    })
}

/// Both sides of a question, wherever the search for it starts.
#[derive(Clone, Copy)]
pub(super) struct Sides<'h> {
    pub a: Side<'h>,
    pub b: Side<'h>,
}

impl<'h> Sides<'h> {
    pub fn of(record: &'h Record, a: Point, b: Point, strategy: Strategy) -> Self {
        let side = |point: Point| {
            let history = &record.threads()[point.thread.index()];
            let target = history.place_before(point.event);
            Side { thread: point.thread, history, order: strategy.order(history), target, event: point.event }
        };
        Self { a: side(a), b: side(b) }
    }

    /// Whether one point precedes the other.
    pub fn are_ordered(&self) -> bool {
        let precedes =
            |one: &Side<'_>, two: &Side<'_>| one.order.is_known_at(one.event, two.order.known(two.event, one.thread));
        precedes(&self.a, &self.b) || precedes(&self.b, &self.a)
    }

    /// Whether the locks that are held exclude each other.
    pub fn exclude(&self) -> bool {
        let held = self.a.history.held(self.a.target);
        held.into_iter().any(|lock| self.b.history.holds_against(self.b.target, lock))
    }
}

/// A search and where it started.
pub(super) struct Known {
    strategy: Strategy,
    pub start: Start,
    pub search: Search,
    /// By threads that stand still.
    held: Vec<Held>,
}

impl Known {
    /// The search from this start, made first if need be.
    pub fn find<'k>(
        all: &'k mut Vec<Self>,
        start: Start,
        strategy: Strategy,
        record: &Record,
        sides: &Sides<'_>,
    ) -> &'k mut Self {
        let (a, b) = (sides.a, sides.b);
        let pair = start.pair((a.thread, a.history), (b.thread, b.history));
        // Histories may have been cut since.
        all.retain(|known| known.search.start().a >= a.history.base() && known.search.start().b >= b.history.base());
        if let Some(at) = all.iter().position(|known| known.strategy == strategy && known.start == start) {
            let known = all.remove(at);
            all.push(known);
        } else {
            if all.len() >= MAX_KNOWN {
                all.remove(0);
            }
            let mut held = Vec::new();
            for (at, history) in record.threads().iter().enumerate() {
                let thread = Thread(at as u32);
                if strategy == Strategy::Two && thread != a.thread && thread != b.thread {
                    let stands = start.stands(thread);
                    if stands > Time(0) {
                        held.extend(history.held(history.place_after(stands)));
                    }
                }
            }
            all.push(Self { strategy, start, search: Search::new(pair), held });
        }
        all.last_mut().expect("it was just put there")
    }

    pub fn question<'h>(&self, sides: &Sides<'h>) -> Question<'h> {
        let Sides { a, b } = *sides;
        let needs_others = self.strategy == Strategy::Two && (self.waits(&a, &b) || self.waits(&b, &a));
        Question { a, b, needs_others }
    }

    /// Whether a thread needs one that stands still, on its way to the target.
    fn waits(&self, one: &Side<'_>, other: &Side<'_>) -> bool {
        let start = self.start.pair((one.thread, one.history), (other.thread, other.history));
        if one.history.first_refused(start.a, &self.held).is_some_and(|place| place < one.target) {
            return true;
        }
        if one.history.is_refused_between(self.start.event(one), one.event) {
            return true;
        }
        let Some(clock) = one.order.at(one.event) else { return false };
        (0..clock.as_slice().len()).map(|at| Thread(at as u32)).any(|thread| {
            thread != one.thread && thread != other.thread && Time(clock.get(thread)) > self.start.stands(thread)
        })
    }
}
