//! The time-stamped lock history of one thread.
//!
//! Appending costs one write. All else (who holds what where, where a lock is used next) is worked out when it is first
//! asked for, and every event is looked at once for that.

use std::collections::VecDeque;

use reweave_model::{EventId, LockMode};

use super::versions::Versions;
use crate::linear::{FastMap, Gone, Lock, VectorClock};

index!(
    /// A position in a lock history: how many lock events of the thread come before it, those that are kept no more
    /// included.
    Place
);

/// A moment: how much synchronization had happened by then, in the whole program. The first is 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Time(pub u32);

/// An acquisition or a release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockEvent {
    pub event: EventId,
    pub time: Time,
    /// The lock, then one bit whether it is shared and one whether it is a release.
    code: u32,
}

const _: () = assert!(size_of::<LockEvent>() == 16);

impl LockEvent {
    #[inline]
    pub fn new(event: EventId, time: Time, lock: Lock, mode: LockMode, release: bool) -> Self {
        Self { event, time, code: lock.0 << 2 | u32::from(mode == LockMode::Shared) << 1 | u32::from(release) }
    }
    pub fn lock(self) -> Lock {
        Lock(self.code >> 2)
    }
    pub fn mode(self) -> LockMode {
        if self.code & 2 != 0 { LockMode::Shared } else { LockMode::Exclusive }
    }
    pub fn is_release(self) -> bool {
        self.code & 1 != 0
    }
}

/// A lock and how it is held.
pub type Held = (Lock, LockMode);

/// Whether the same lock cannot be held in both ways by two threads.
pub fn exclude(one: LockMode, two: LockMode) -> bool {
    one == LockMode::Exclusive || two == LockMode::Exclusive
}

/// So many events lie between two places whose held locks are known.
const STRIDE: usize = 64;

/// What is derived from the events.
#[derive(Default)]
struct Uses {
    /// How many of the kept events are in here.
    seen: usize,
    /// The events of each lock, ascending.
    by_lock: FastMap<u32, Vec<Use>>,
    /// What is held after every `STRIDE` of the kept events, from 0.
    held: Vec<Vec<Held>>,
    /// What is held after `seen` of them.
    current: Vec<Held>,
}

#[derive(Clone, Copy)]
struct Use {
    place: Place,
    mode: LockMode,
    release: bool,
}

#[derive(Default)]
pub struct ThreadHistory {
    /// The place of the first event that is kept.
    base: Place,
    /// Of this event and all before it nothing is kept.
    dropped: Option<EventId>,
    /// When the last of the lock events that are gone happened.
    dropped_until: Time,
    /// The first clocks of the thread are those of its fork.
    pub(super) forked: bool,
    // invariant: ascending in event and time; a release is of what is held
    events: VecDeque<LockEvent>,
    held_at_base: Vec<Held>,
    uses: Uses,
    /// What precedes in every reordering.
    pub(super) firm: Versions,
    /// What precedes if all but locks stays in the observed order.
    pub(super) kept: Versions,
    /// Tries that failed.
    refused: VecDeque<EventId>,
}

impl ThreadHistory {
    #[inline]
    pub fn push(&mut self, event: LockEvent) {
        self.events.push_back(event);
    }

    /// How many events are kept.
    #[inline]
    pub fn kept_events(&self) -> usize {
        self.events.len()
    }

    pub fn base(&self) -> Place {
        self.base
    }

    /// The place after the last event.
    pub fn end(&self) -> Place {
        Place(self.base.0 + self.events.len() as u32)
    }

    /// Whether what was before this event is still known.
    pub fn reaches_back_to(&self, event: EventId) -> bool {
        self.dropped.is_none_or(|dropped| dropped < event)
    }

    /// What precedes everything that the thread did; `None` if nothing does, or if that is not known any more.
    pub fn origin(&self, order: impl Fn(&Self) -> &Versions) -> Option<&VectorClock> {
        order(self).first().filter(|_| self.forked && self.dropped.is_none())
    }

    /// The event that a thread at this place does next.
    pub fn at(&self, place: Place) -> Option<&LockEvent> {
        self.events.get((place.0.checked_sub(self.base.0)?) as usize)
    }

    /// Where the thread was before it did this event (its own or another's).
    pub fn place_before(&self, event: EventId) -> Place {
        Place(self.base.0 + self.events.partition_point(|lock| lock.event < event) as u32)
    }

    /// Where the thread was after everything up to this moment.
    pub fn place_after(&self, time: Time) -> Place {
        Place(self.base.0 + self.events.partition_point(|lock| lock.time <= time) as u32)
    }

    /// Whether more than so many events or clocks are kept.
    pub fn is_fuller_than(&self, limit: usize) -> bool {
        let clocks = self.firm.len().max(self.kept.len());
        self.events.len().max(clocks).max(self.refused.len()) > limit
    }

    /// Drops the older half of whatever there is most of, and all else from that time. Returns how many lock events
    /// went.
    pub fn drop_older_half(&mut self) -> usize {
        let events = (self.events.len(), self.events.get(self.events.len() / 2).map(|event| event.event));
        let refused = (self.refused.len(), self.refused.get(self.refused.len() / 2).copied());
        let orders = [&self.firm, &self.kept].map(|order| (order.len(), order.middle()));
        let most = [events, refused].into_iter().chain(orders).max_by_key(|(count, _)| *count);
        most.and_then(|(_, middle)| middle).map_or(0, |until| self.drop_before(until))
    }

    /// Drops everything up to the last mention of a lock that is gone, which by now nobody holds.
    pub fn retire(&mut self, gone: Gone<'_>) -> usize {
        self.held_at_base.retain(|(lock, _)| !gone.has(*lock));
        let last = self.events.iter().rev().find(|event| gone.has(event.lock()));
        last.copied().map_or(0, |last| self.drop_before(EventId(last.event.0 + 1)))
    }

    /// Drops what was before this event. Returns how many lock events went.
    fn drop_before(&mut self, until: EventId) -> usize {
        let count = self.events.partition_point(|event| event.event < until);
        self.hold_as_after(count);
        if let Some(last) = count.checked_sub(1).and_then(|last| self.events.get(last)) {
            self.dropped_until = last.time;
        }
        self.events.drain(..count);
        self.base.0 += count as u32;
        self.uses = Uses::default();
        // Everything before `until` is gone, whatever it was.
        self.dropped = Some(EventId(until.0.saturating_sub(1)));
        self.firm.forget_before(until);
        self.kept.forget_before(until);
        let old = self.refused.partition_point(|event| *event < until);
        self.refused.drain(..old);
        count
    }

    /// Makes `held_at_base` what is held after so many of the kept events. Only those since nothing was held are looked
    /// at one by one: of the others, and these are most, it is enough to count.
    fn hold_as_after(&mut self, count: usize) {
        let (mut depth, mut empty) = (self.held_at_base.len() as i64, None);
        for (event, after) in self.events.range(..count).zip(1..) {
            depth += 1 - 2 * i64::from(event.code & 1);
            if depth == 0 {
                empty = Some(after);
            }
        }
        if empty.is_some() {
            self.held_at_base.clear();
        }
        for &event in self.events.range(empty.unwrap_or(0)..count) {
            apply(&mut self.held_at_base, event);
        }
    }

    /// A try failed.
    pub fn refuses(&mut self, event: EventId) {
        self.refused.push_back(event);
    }

    /// Whether a try failed after the one event and before the other.
    pub fn is_refused_between(&self, after: Option<EventId>, before: EventId) -> bool {
        let first = self.refused.partition_point(|event| after.is_some_and(|after| *event <= after));
        self.refused.get(first).is_some_and(|event| *event < before)
    }

    /// As [`Self::place_after`] of a time as it stands in clocks, if that far back is known.
    pub fn place_known_after(&self, time: u32) -> Option<Place> {
        let known = self.dropped.is_none() || time > 0 && Time(time) >= self.dropped_until;
        known.then(|| self.place_after(Time(time)))
    }

    /// Drops everything, up to the given event at least.
    pub fn drop_all(&mut self, until: EventId) {
        self.catch_up();
        let dropped = self.events.back().map_or(until, |last| last.event.max(until));
        let (base, held_at_base) = (self.end(), self.held(self.end()));
        *self = Self { base, dropped: Some(dropped), held_at_base, ..Self::default() };
    }

    /// Whether nothing was recorded of the thread.
    pub fn is_new(&self) -> bool {
        self.end() == Place(0) && self.firm.is_empty() && self.kept.is_empty()
    }

    /// Makes the answers below cover everything recorded so far.
    pub fn catch_up(&mut self) {
        let uses = &mut self.uses;
        if uses.held.is_empty() {
            uses.current.clone_from(&self.held_at_base);
            uses.held.push(uses.current.clone());
        }
        while let Some(&event) = self.events.get(uses.seen) {
            let (mode, release) = (event.mode(), event.is_release());
            let place = Place(self.base.0 + uses.seen as u32);
            uses.by_lock.entry(event.lock().0).or_default().push(Use { place, mode, release });
            apply(&mut uses.current, event);
            uses.seen += 1;
            if uses.seen.is_multiple_of(STRIDE) {
                uses.held.push(uses.current.clone());
            }
        }
    }

    /// What a thread at this place holds.
    pub fn held(&self, place: Place) -> Vec<Held> {
        let done = place.index().saturating_sub(self.base.index());
        let mut held = self.uses.held[done / STRIDE].clone();
        self.events.range(done / STRIDE * STRIDE..done).for_each(|&event| apply(&mut held, event));
        held
    }

    /// Whether a thread at this place holds the lock against somebody who wants it.
    pub fn holds_against(&self, place: Place, (lock, mode): Held) -> bool {
        let uses = self.uses.by_lock.get(&lock.0).map_or(&[][..], Vec::as_slice);
        let before = uses.partition_point(|one| one.place < place);
        match before.checked_sub(1) {
            Some(last) => !uses[last].release && exclude(uses[last].mode, mode),
            None => self.held_at_base.iter().any(|&(held, how)| held == lock && exclude(how, mode)),
        }
    }

    /// Whether a thread acquires the lock, in a way that excludes the given one, on its way from one place to the
    /// other.
    pub fn wants(&self, from: Place, until: Place, (lock, mode): Held) -> bool {
        self.uses_between(from, until, lock).any(|one| !one.release && exclude(one.mode, mode))
    }

    /// Whether a thread releases the lock on its way from one place to the other.
    pub fn releases(&self, from: Place, until: Place, lock: Lock) -> bool {
        self.uses_between(from, until, lock).any(|one| one.release)
    }

    /// The first place from which on the thread acquires something that is held against it, at or after `from`.
    pub fn first_refused(&self, from: Place, held: &[Held]) -> Option<Place> {
        let refused = |&(lock, mode): &Held| {
            let mut uses = self.uses_between(from, Place(u32::MAX), lock);
            uses.find(|one| !one.release && exclude(one.mode, mode)).map(|one| one.place)
        };
        held.iter().filter_map(refused).min()
    }

    fn uses_between(&self, from: Place, until: Place, lock: Lock) -> impl Iterator<Item = &Use> {
        let uses = self.uses.by_lock.get(&lock.0).map_or(&[][..], Vec::as_slice);
        let first = uses.partition_point(|one| one.place < from);
        uses[first..].iter().take_while(move |one| one.place < until)
    }

    /// The kept events on the way from one place to the other.
    pub fn between(&self, from: Place, until: Place) -> impl Iterator<Item = &LockEvent> {
        let index = |place: Place| place.index().saturating_sub(self.base.index()).min(self.events.len());
        self.events.range(index(from)..index(until).max(index(from)))
    }
}

/// Changes what is held as the event does.
pub(super) fn apply(held: &mut Vec<Held>, event: LockEvent) {
    let entry = (event.lock(), event.mode());
    if !event.is_release() {
        held.push(entry);
    } else if let Some(at) = held.iter().rposition(|&one| one == entry) {
        held.remove(at);
    }
}
