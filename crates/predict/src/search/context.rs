//! What can be said of pairs of events without a question: an order that every reordering keeps, common locks,
//! nearness.

use std::sync::Arc;

use reweave_model::LockMode;

use crate::feasible::Index;
use crate::history::*;
use crate::linear::FastMap;

/// Entries of a clock that are copied together.
const CHUNK: usize = 64;

/// How many events of each thread come before something. Copies share what is the same: most threads of a program with
/// thousands of them ended long ago, and cost a pointer for every so many.
#[derive(Clone, Default)]
struct Clock(Vec<Option<Arc<[u32; CHUNK]>>>);

impl Clock {
    fn get(&self, thread: Thread) -> u32 {
        let chunk = self.0.get(thread.index() / CHUNK).and_then(Option::as_ref);
        chunk.map_or(0, |chunk| chunk[thread.index() % CHUNK])
    }

    fn raise(&mut self, thread: Thread, to: u32) {
        if self.get(thread) < to {
            Arc::make_mut(self.chunk(thread.index() / CHUNK).get_or_insert_with(|| Arc::new([0; CHUNK])))
                [thread.index() % CHUNK] = to;
        }
    }

    fn chunk(&mut self, at: usize) -> &mut Option<Arc<[u32; CHUNK]>> {
        if self.0.len() <= at {
            self.0.resize(at + 1, None);
        }
        &mut self.0[at]
    }

    fn join(&mut self, other: &Self) {
        for (at, theirs) in other.0.iter().enumerate() {
            let Some(theirs) = theirs else { continue };
            match self.chunk(at) {
                Some(mine) if Arc::ptr_eq(mine, theirs) => {}
                Some(mine) => {
                    let mine = Arc::make_mut(mine).iter_mut();
                    mine.zip(theirs.iter()).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
                }
                none => *none = Some(Arc::clone(theirs)),
            }
        }
    }
}

/// An event, as far as its order goes.
#[derive(Clone, Copy)]
struct Placed {
    thread: Thread,
    /// How many events of its own thread there are up to it, itself included.
    own: u32,
    /// Its entry in [`KeptOrder::clocks`], which counts the others.
    clock: u32,
}

/// The order of events that every reordering keeps.
pub struct KeptOrder {
    events: Vec<Placed>,
    /// Another one only where a thread had to wait for others.
    clocks: Vec<Clock>,
}

impl KeptOrder {
    pub fn new(history: &History, index: &Index<'_>) -> Self {
        // Nobody has waited for anybody yet.
        let mut order = Self { events: Vec::with_capacity(history.steps.len()), clocks: vec![Clock::default()] };
        let mut last = vec![(0, 0); history.threads.len()];
        for pos in history.positions() {
            let thread = history.step(pos).thread;
            let (own, clock) = &mut last[thread.index()];
            *own += 1;
            let needs = index.needs(pos);
            if !needs.is_empty() {
                *clock = order.after(*clock, needs);
            }
            order.events.push(Placed { thread, own: *own, clock: *clock });
        }
        order
    }

    /// The clock of a thread that has come so far and waits for these.
    fn after(&mut self, clock: u32, needs: &[Pos]) -> u32 {
        let mut joined = self.clocks[clock as usize].clone();
        for before in needs {
            let Placed { thread, own, clock } = self.events[before.index()];
            joined.join(&self.clocks[clock as usize]);
            joined.raise(thread, own);
        }
        self.clocks.push(joined);
        self.clocks.len() as u32 - 1
    }

    /// How many events of a thread come before this one in every reordering; of its own thread, itself included.
    pub fn before(&self, pos: Pos, thread: Thread) -> u32 {
        let event = self.events[pos.index()];
        if event.thread == thread { event.own } else { self.clocks[event.clock as usize].get(thread) }
    }

    /// Whether the first comes before the second in every reordering.
    pub fn ordered(&self, first: Pos, second: Pos) -> bool {
        let first = self.events[first.index()];
        first.own <= self.before(second, first.thread)
    }
}

/// What every reordering keeps, event by event.
pub struct Context {
    order: KeptOrder,
    /// The set of locks held, as a number.
    locks: Vec<u32>,
    sets: Vec<Vec<(Lock, LockMode)>>,
}

impl Context {
    pub fn new(history: &History, index: &Index<'_>) -> Self {
        let mut held: Vec<Vec<(Lock, LockMode)>> = vec![Vec::new(); history.threads.len()];
        let mut numbers: FastMap<Vec<(Lock, LockMode)>, u32> = FastMap::default();
        let mut context = Self { order: KeptOrder::new(history, index), locks: Vec::new(), sets: Vec::new() };
        for pos in history.positions() {
            let step = history.step(pos);
            let held = &mut held[step.thread.index()];
            match step.action {
                Action::Acquire { lock, mode } => held.push((lock, mode)),
                Action::Woken { lock, .. } => held.push((lock, LockMode::Exclusive)),
                Action::Release { lock, .. } | Action::Wait { lock, .. } => held.retain(|(other, _)| *other != lock),
                _ => {}
            }
            let mut set = held.clone();
            set.sort_unstable_by_key(|(lock, _)| *lock);
            let next = numbers.len() as u32;
            let number = *numbers.entry(set).or_insert_with_key(|set| {
                context.sets.push(set.clone());
                next
            });
            context.locks.push(number);
        }
        context
    }

    /// The set of locks held at an event, as a number.
    pub fn locks(&self, pos: Pos) -> u32 {
        self.locks[pos.index()]
    }

    /// As [`KeptOrder::before`].
    pub fn before(&self, pos: Pos, thread: Thread) -> u32 {
        self.order.before(pos, thread)
    }

    /// As [`KeptOrder::ordered`].
    pub fn ordered(&self, first: Pos, second: Pos) -> bool {
        self.order.ordered(first, second)
    }

    /// Whether a lock is held at both.
    pub fn excluded(&self, one: u32, two: u32) -> bool {
        self.sets[one as usize].iter().any(|(lock, mode)| {
            self.sets[two as usize].iter().any(|(other, other_mode)| {
                lock == other && (*mode == LockMode::Exclusive || *other_mode == LockMode::Exclusive)
            })
        })
    }
}

/// Whether all pairs of two lists are few enough to be looked at.
pub fn all_are_near(ones: &[Pos], twos: &[Pos], tries: usize) -> bool {
    ones.len() * twos.len() <= tries * tries
}

/// Pairs of two ascending lists, those that lie side by side first.
pub fn near<'l>(ones: &'l [Pos], twos: &'l [Pos], tries: usize) -> impl Iterator<Item = (Pos, Pos)> + 'l {
    let side_by_side = ones.iter().flat_map(move |&one| {
        let at = twos.partition_point(|&two| two < one);
        let before = at.checked_sub(1).map(|before| (one, twos[before]));
        before.into_iter().chain(twos.get(at).map(|&two| (one, two)))
    });
    let ones = if all_are_near(ones, twos, tries) { ones } else { &[] };
    side_by_side.chain(ones.iter().flat_map(move |&one| twos.iter().map(move |&two| (one, two))))
}
