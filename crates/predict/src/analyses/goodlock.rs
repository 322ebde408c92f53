//! Potential deadlocks: iGoodlock (Joshi, Park, Sen, Naik, PLDI 2009; Park's thesis, §4.2), while the trace goes by.
//!
//! A dependency is a request for a lock: the thread, the locks it holds, the lock, and the sites where it acquired
//! them. Cycles of them are potential deadlocks ([`relation`](crate::search::deadlocks::relation) has the definition).
//! The relation grows only by requests that differ from all earlier ones, so a program that runs on adds nothing.
//!
//! Complete, not sound: after every feasible reordering in which threads wait for locks in a circle, the requests of a
//! smallest circle are among the cycles, as long as nothing was dropped; of cycles with the same sites the first stands
//! for all. Requests are acquisitions, and the ends of waits, which acquire again. A try or a timed acquisition waits
//! for nobody for ever, so it makes no request; once it succeeds, its lock is held like any other.
//!
//! Beyond the paper: what no reordering can bring together is left out, i.e. requests that fork, join, a message or a
//! barrier order (*firm* edges). Locks are told apart by their lives, not by address. A thread that is blocked when the
//! trace ends has made its request. A semaphore that only ever counts to one, and that whoever took it posts again, is
//! a lock.
//!
//! A pass without end ([`Goodlock::bounded`]) forgets requests that mention locks which are gone. Cycles of them with
//! earlier requests have been found by then; those with later ones are missed, and what was forgotten is counted.

use std::collections::HashSet;
use std::rc::Rc;

use reweave_model::{BlockedOn, Claim, Event, EventId, Kind, LockChange, LockMode, Misuse, ObjectId, Op, Pc};
use reweave_trace::Result;

use crate::analysis::{About, Analysis, Guarantee, Watching};
use crate::linear::{
    Access, Candidates, Cycle, Edges, FastMap, Gone, Linear, Order, Sync, Thread, Touch, VectorClock, Word,
};
use crate::prediction::Prediction;
use crate::search::deadlocks::relation::{Dependency, Relation};

/// The analysis `goodlock`.
pub struct LockCycles;

impl Analysis for LockCycles {
    fn about(&self) -> About {
        let summary = "threads that may wait for each other's locks: patterns, may be false";
        About::new("goodlock", Kind::Deadlock, Guarantee::Complete, summary).claiming(Claim::LockCycle).by_default()
    }

    fn pass(&self) -> Option<Box<dyn Linear>> {
        Some(Box::<Goodlock>::default())
    }
    fn watching(&self) -> Option<Watching> {
        Some(Watching::new(|| Box::new(Goodlock::bounded())))
    }
    fn run(&self, prediction: &mut Prediction<'_>) -> Result<()> {
        prediction.deadlocks(self.id())
    }
}

/// Requests kept; beyond this they are counted.
const MAX_REQUESTS: usize = 1 << 16;
/// Instances of one request that firm edges order differently.
const MAX_INSTANCES: u32 = 16;
/// Steps of the search for the cycles of one request.
const MAX_SEARCH: u64 = 1 << 14;
const MAX_CYCLES: usize = 1 << 12;
/// In a bounded pass: locks that are gone before what mentions them is forgotten.
const MAX_GONE: usize = 1 << 12;
/// In a bounded pass: ways of holding locks that are told apart before those that nobody needs are forgotten.
const MAX_CONTEXTS: usize = 1 << 18;

/// The locks a thread holds, in the order of acquisition, with the sites: a node of a tree, each one lock more than its
/// parent.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Context {
    parent: u32,
    lock: u32,
    mode: LockMode,
    pc: Pc,
}

const EMPTY: u32 = 0;

#[derive(Default)]
struct Row {
    context: u32,
    /// It is blocked: there, at this lock.
    blocked: Option<(EventId, Pc, u32, LockMode)>,
    /// Grows with whatever firm edges tell this thread, or others of it.
    version: u32,
    /// The clock as of some version.
    clock: Option<(u32, Rc<VectorClock>)>,
}

/// Where and when a dependency was seen.
struct Request {
    event: EventId,
    pc: Pc,
    thread: Thread,
    context: u32,
    /// Its own and those of the locks held.
    sites: Box<[Pc]>,
    epoch: u32,
    clock: Rc<VectorClock>,
}

#[derive(Clone, Copy)]
struct Seen {
    version: u32,
    instances: u32,
}

pub struct Goodlock {
    order: Order,
    locks: FastMap<ObjectId, u32>,
    next_lock: u32,
    /// The one that was asked for last: what is acquired is released.
    recent: Option<(ObjectId, u32)>,
    /// Semaphores that are no locks.
    counting: FastMap<ObjectId, ()>,
    rows: Vec<Row>,
    contexts: Vec<Context>,
    /// The child of each context that was last entered, or none: loops come back to the same ones, and need no hashing.
    // invariant: one for each context
    entered: Vec<u32>,
    context_ids: FastMap<(u32, u32, bool, u64), u32>,
    seen: FastMap<(u32, u32), Seen>,
    relation: Relation,
    // invariant: one for each dependency of the relation
    requests: Vec<Request>,
    /// The sites of each cycle: of its requests, and of what is held.
    told: HashSet<Vec<Vec<Pc>>>,
    /// Those that [`Linear::news`] has not told yet.
    cycles: Vec<Cycle>,
    /// All there were.
    found: usize,
    dropped: u64,
    /// Locks that may be gone before what mentions them is forgotten; `None`: it never is.
    max_gone: Option<usize>,
    /// Locks that are gone since the last [`Goodlock::tidy`].
    gone: usize,
    /// Contexts at which it is time for the next one.
    tidy_at: usize,
    /// Requests that mentioned locks which are gone.
    forgotten: u64,
}

impl Default for Goodlock {
    fn default() -> Self {
        let nothing = Context { parent: EMPTY, lock: u32::MAX, mode: LockMode::Exclusive, pc: Pc(0) };
        Self {
            order: Order::along(Edges::Firm),
            locks: FastMap::default(),
            next_lock: 0,
            recent: None,
            counting: FastMap::default(),
            rows: Vec::new(),
            contexts: vec![nothing],
            entered: vec![EMPTY],
            context_ids: FastMap::default(),
            seen: FastMap::default(),
            relation: Relation::default(),
            requests: Vec::new(),
            told: HashSet::new(),
            cycles: Vec::new(),
            found: 0,
            dropped: 0,
            max_gone: None,
            gone: 0,
            tidy_at: MAX_CONTEXTS,
            forgotten: 0,
        }
    }
}

impl Goodlock {
    /// For events that never end: memory follows the locks that there are.
    pub fn bounded() -> Self {
        Self::forgetting_after(MAX_GONE)
    }

    /// As [`Goodlock::bounded`], after so many locks.
    pub fn forgetting_after(locks: usize) -> Self {
        Self { max_gone: Some(locks), ..Self::default() }
    }

    fn row(&mut self, thread: Thread) -> &mut Row {
        if self.rows.len() <= thread.index() {
            self.rows.resize_with(thread.index() + 1, Row::default);
        }
        &mut self.rows[thread.index()]
    }

    fn lock(&mut self, object: ObjectId) -> u32 {
        if let Some((recent, lock)) = self.recent
            && recent == object
        {
            return lock;
        }
        let next = &mut self.next_lock;
        let lock = *self.locks.entry(object).or_insert_with(|| {
            *next += 1;
            *next - 1
        });
        self.recent = Some((object, lock));
        lock
    }

    /// The context with one lock more.
    fn with(&mut self, parent: u32, lock: u32, mode: LockMode, pc: Pc) -> u32 {
        let wanted = Context { parent, lock, mode, pc };
        let last = self.entered[parent as usize];
        if last != EMPTY && self.contexts[last as usize] == wanted {
            return last;
        }
        let (contexts, entered) = (&mut self.contexts, &mut self.entered);
        let id = *self.context_ids.entry((parent, lock, mode == LockMode::Shared, pc.0)).or_insert_with(|| {
            contexts.push(wanted);
            entered.push(EMPTY);
            contexts.len() as u32 - 1
        });
        entered[parent as usize] = id;
        id
    }

    /// The locks of a context, the last one first.
    fn locks_of(&self, context: u32) -> impl Iterator<Item = Context> + '_ {
        let mut at = context;
        std::iter::from_fn(move || {
            let node = (at != EMPTY).then(|| self.contexts[at as usize]);
            at = node.map_or(EMPTY, |node| node.parent);
            node
        })
    }

    fn acquire(&mut self, event: &Event<'_>, thread: Thread, lock: u32, mode: LockMode, waits: bool) {
        let row = self.row(thread);
        row.blocked = None;
        let held = row.context;
        let context = self.with(held, lock, mode, event.pc);
        if waits && held != EMPTY {
            self.request(event.id, event.pc, thread, context);
        }
        self.row(thread).context = context;
    }

    fn release(&mut self, thread: Thread, lock: u32) {
        let context = self.row(thread).context;
        let top = self.contexts[context as usize];
        if context == EMPTY {
            return;
        }
        if top.lock == lock {
            self.row(thread).context = top.parent;
            return;
        }
        // Not the last one that was acquired: those above it come to stand on those below it.
        let above: Vec<Context> = self.locks_of(context).take_while(|node| node.lock != lock).collect();
        let Some(found) = self.locks_of(context).find(|node| node.lock == lock) else { return };
        let mut now = found.parent;
        for node in above.into_iter().rev() {
            now = self.with(now, node.lock, node.mode, node.pc);
        }
        self.row(thread).context = now;
    }

    /// `context`: with the lock that is wanted as the last one.
    fn request(&mut self, event: EventId, pc: Pc, thread: Thread, context: u32) {
        let version = self.row(thread).version;
        let key = (thread.0, context);
        let seen = self.seen.get(&key).copied();
        if seen.is_some_and(|seen| seen.version == version) {
            return;
        }
        let instances = seen.map_or(0, |seen| seen.instances) + 1;
        self.seen.insert(key, Seen { version, instances });
        if instances > MAX_INSTANCES || self.relation.len() >= MAX_REQUESTS {
            self.dropped += 1;
            return;
        }
        let epoch = self.order.epoch(thread);
        let clock = match &self.rows[thread.index()].clock {
            Some((at, clock)) if *at == version => Rc::clone(clock),
            _ => {
                let clock = Rc::new(self.order.clock(thread).clone());
                self.rows[thread.index()].clock = Some((version, Rc::clone(&clock)));
                clock
            }
        };
        let mut held: Vec<_> = self.locks_of(context).map(|node| (node.lock, node.mode)).collect();
        let sites = self.locks_of(context).map(|node| node.pc).collect();
        let wanted = held.remove(0);
        let id = self.relation.add(Dependency { thread: thread.0, held, wanted });
        self.requests.push(Request { event, pc, thread, context, sites, epoch, clock });
        let Self { relation, requests, told, cycles, found, dropped, .. } = self;
        // Neither may have happened when the other's thread stands before its own.
        let together = |one: usize, two: usize| {
            let (one, two) = (&requests[one], &requests[two]);
            two.clock.get(one.thread) < one.epoch && one.clock.get(two.thread) < two.epoch
        };
        let mut budget = MAX_SEARCH;
        relation.cycles_through(id, &mut budget, &together, &mut |path| {
            let mut sites: Vec<Vec<Pc>> = path.iter().map(|&id| requests[id].sites.to_vec()).collect();
            sites.sort_unstable();
            let fresh = !told.contains(&sites);
            if fresh && *found >= MAX_CYCLES {
                *dropped += 1;
            } else if fresh {
                told.insert(sites);
                *found += 1;
                // It begins with the thread that came first, whoever closed it.
                let start = (0..path.len()).min_by_key(|&i| requests[path[i]].thread).unwrap_or(0);
                let turned = path[start..].iter().chain(&path[..start]).map(|&id| &requests[id]);
                let (events, pcs) = turned.map(|request| (request.event, request.pc)).unzip();
                cycles.push(Cycle { requests: events, pcs });
            }
        });
        *dropped += u64::from(budget == 0);
    }

    fn take(&mut self, event: &Event<'_>, thread: Thread, semaphore: ObjectId, left: u32, waits: bool) {
        if left > 0 {
            self.counts(semaphore);
        } else if !self.counting.contains_key(&semaphore) {
            let lock = self.lock(semaphore);
            self.acquire(event, thread, lock, LockMode::Exclusive, waits);
        }
    }

    fn post(&mut self, thread: Thread, semaphore: ObjectId, now: u32) {
        if self.counting.contains_key(&semaphore) {
            return;
        }
        let lock = self.lock(semaphore);
        let context = self.row(thread).context;
        let holds = self.locks_of(context).any(|node| node.lock == lock);
        if now == 1 && holds {
            self.release(thread, lock);
        } else {
            self.counts(semaphore);
        }
    }

    /// Forgets requests that mention locks which are gone, and how locks were held unless a request or a thread needs
    /// it. What is left is numbered anew.
    #[cold]
    fn tidy(&mut self) {
        // A lock that is gone may still be held: its holder never released it.
        let held = self.rows.iter().flat_map(|row| self.locks_of(row.context)).map(|node| node.lock);
        let waited_for = self.rows.iter().filter_map(|row| row.blocked).map(|(_, _, lock, _)| lock);
        let alive: HashSet<u32> = self.locks.values().copied().chain(held).chain(waited_for).collect();
        let mut alive: Vec<u32> = alive.into_iter().collect();
        alive.sort_unstable();
        let number: FastMap<u32, u32> = alive.iter().copied().zip(0..).collect();
        let is_kept = |request: &Request| self.locks_of(request.context).all(|node| number.contains_key(&node.lock));
        let kept: Vec<bool> = self.requests.iter().map(is_kept).collect();

        let needed = self.requests.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(request, _)| request.context);
        let mut is_needed = vec![false; self.contexts.len()];
        for mut context in needed.chain(self.rows.iter().map(|row| row.context)) {
            while !std::mem::replace(&mut is_needed[context as usize], true) {
                context = self.contexts[context as usize].parent;
            }
        }
        is_needed[EMPTY as usize] = true;
        // A parent comes before its children, and keeps doing so.
        let mut renamed = vec![EMPTY; self.contexts.len()];
        let mut contexts = Vec::new();
        self.context_ids.clear();
        for (old, &context) in self.contexts.iter().enumerate().filter(|(old, _)| is_needed[*old]) {
            let (id, parent) = (contexts.len() as u32, renamed[context.parent as usize]);
            let lock = number.get(&context.lock).copied().unwrap_or(context.lock);
            renamed[old] = id;
            contexts.push(Context { parent, lock, ..context });
            if id != EMPTY {
                let shared = context.mode == LockMode::Shared;
                self.context_ids.insert((parent, lock, shared, context.pc.0), id);
            }
        }
        self.entered = vec![EMPTY; contexts.len()];
        self.contexts = contexts;
        self.recent = None;

        let rename = |context: u32| renamed[context as usize];
        let survives = |context: u32| is_needed[context as usize];
        self.rows.iter_mut().for_each(|row| {
            row.context = rename(row.context);
            row.blocked = row.blocked.map(|(event, pc, lock, mode)| (event, pc, number[&lock], mode));
        });
        self.locks.values_mut().for_each(|lock| *lock = number[lock]);
        self.next_lock = alive.len() as u32;
        self.relation = std::mem::take(&mut self.relation).only(|id| kept[id], |lock| number[&lock]);
        let mut requests = kept.iter();
        let before = self.requests.len();
        self.requests.retain(|_| requests.next().copied().unwrap_or(false));
        self.requests.iter_mut().for_each(|request| request.context = rename(request.context));
        self.forgotten += (before - self.requests.len()) as u64;
        let seen = std::mem::take(&mut self.seen).into_iter().filter(|((_, context), _)| survives(*context));
        self.seen = seen.map(|((thread, context), seen)| ((thread, rename(context)), seen)).collect();
        self.gone = 0;
        self.tidy_at = MAX_CONTEXTS.max(2 * self.contexts.len());
    }

    /// A semaphore turns out to be no lock: nobody holds it.
    fn counts(&mut self, semaphore: ObjectId) {
        self.counting.insert(semaphore, ());
        self.recent = None;
        if let Some(lock) = self.locks.remove(&semaphore) {
            (0..self.rows.len() as u32).for_each(|thread| self.release(Thread(thread), lock));
        }
    }
}

impl Linear for Goodlock {
    fn access(&mut self, _: &Access, _: &[Touch]) {}

    fn accesses(&mut self, _: &[(Access, Touch)]) {}

    fn left_out(&mut self, _: u64) {}

    fn event(&mut self, event: &Event<'_>, thread: Thread) {
        match event.op {
            Op::Acquire { .. } | Op::Release { .. } | Op::Wait { .. } | Op::Woken { .. } => {
                let Some(change) = event.op.lock_change() else { return };
                let lock = self.lock(change.lock());
                let requests = !matches!(event.op, Op::Acquire { tried: true, .. });
                match change {
                    LockChange::Acquired { mode, .. } => self.acquire(event, thread, lock, mode, requests),
                    LockChange::Released { .. } => self.release(thread, lock),
                }
            }
            Op::SemaphoreTake { semaphore, value, tried } => self.take(event, thread, semaphore, value, !tried),
            Op::SemaphorePost { semaphore, value } => self.post(thread, semaphore, value),
            Op::Blocked { on: on @ (BlockedOn::LockExclusive | BlockedOn::LockShared), object } => {
                let mode = if on == BlockedOn::LockShared { LockMode::Shared } else { LockMode::Exclusive };
                let lock = self.lock(object);
                self.row(thread).blocked = Some((event.id, event.pc, lock, mode));
            }
            // Whoever held it has it no more.
            Op::Misused { what: Misuse::UnlockByNonOwner | Misuse::UnlockUnlocked, object } => {
                let lock = self.lock(object);
                (0..self.rows.len() as u32).for_each(|thread| self.release(Thread(thread), lock));
            }
            Op::Refused { .. } => self.row(thread).blocked = None,
            Op::Create { object, .. } | Op::Destroy { object, .. } => {
                self.recent = None;
                self.gone += usize::from(self.locks.remove(&object).is_some());
                self.counting.remove(&object);
            }
            _ => {}
        }
        if self.max_gone.is_some_and(|max| self.gone >= max || self.contexts.len() >= self.tidy_at) {
            self.tidy();
        }
    }

    fn sync(&mut self, _: EventId, thread: Thread, sync: Sync) {
        let other = match sync {
            Sync::Fork { child } | Sync::Join { child } => child,
            Sync::Publish { firm: true, .. } | Sync::Observe { firm: true, .. } => thread,
            Sync::Clear { .. } => return self.order.sync(thread, sync),
            _ => return,
        };
        self.order.epoch(thread);
        self.order.sync(thread, sync);
        self.order.end_epochs(thread, sync);
        self.row(thread).version += 1;
        self.row(other).version += 1;
    }

    fn forget(&mut self, _: Word) {}

    /// Locks have numbers of their own here, which [`Goodlock::tidy`] sees to.
    fn retire(&mut self, _: Gone<'_>) -> bool {
        self.max_gone.is_some()
    }

    fn news(&mut self) -> Candidates {
        Candidates { cycles: std::mem::take(&mut self.cycles), ..Candidates::default() }
    }

    fn stats(&self) -> Vec<(&'static str, u64)> {
        if self.max_gone.is_some() { vec![("forgotten_requests", self.forgotten)] } else { Vec::new() }
    }

    fn finish(&mut self) -> Candidates {
        for thread in 0..self.rows.len() as u32 {
            let row = &mut self.rows[thread as usize];
            let held = row.context;
            if let Some((event, pc, lock, mode)) = row.blocked.take().filter(|_| held != EMPTY) {
                let context = self.with(held, lock, mode, pc);
                self.request(event, pc, Thread(thread), context);
            }
        }
        Candidates { cycles: std::mem::take(&mut self.cycles), dropped: self.dropped, ..Candidates::default() }
    }
}
