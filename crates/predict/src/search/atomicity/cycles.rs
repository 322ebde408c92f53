//! Candidates: cycles that a reordering could have, each as what it takes: events that come before others.
//!
//! A cycle goes through distinct threads and is told by where it comes in: to block B of thread 0 at `in₀`, to thread 1
//! at `in₁`, and so on. From thread k it leaves at the first event, from the start of the transaction of `inₖ` on, that
//! `inₖ₊₁` depends on: in a reordering where a later one comes before `inₖ₊₁`, that one does too. So a block can be
//! violated if and only if for some choice of the `in`s there is a reordering that has all of them, each after its
//! predecessor's exit, and thread 0's exit comes before `in₀`. Cost: events to the power of the threads of a cycle;
//! hence the limits for large histories, which [`Cycles::more`] tells of. What locks rule out ([`Sections::forbid`]) is
//! no candidate.

use std::cell::Cell as Counter;

use super::depend::Depend;
use super::sections::Sections;
use super::{Block, Transactions};
use crate::history::*;
use crate::linear::FastSet;
use crate::search::{Context, SearchLimits};

/// What a violation of a block takes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Cycle {
    pub block: Block,
    /// Exits and entries, in the order of the cycle: the first of each is in the reordering before the second. The
    /// first pair's first and the last pair's second are events of the block.
    pub edges: Vec<(Pos, Pos)>,
}

impl Cycle {
    /// Whether every edge is an access to memory that depends on another one.
    pub fn is_data(&self, history: &History) -> bool {
        self.edges.iter().all(|(a, b)| [a, b].iter().all(|pos| history.step(**pos).action.access().is_some()))
    }
}

/// How many candidates to list.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Threads of a cycle.
    pub threads: usize,
    /// Ways from one event to the next thread; the nearest ones in the observed order.
    pub near: usize,
    /// Candidates per block.
    pub cycles: usize,
}

impl Bounds {
    pub const NONE: Self = Self { threads: usize::MAX, near: usize::MAX, cycles: usize::MAX };
}

/// Steps between two looks at the clock.
const CLOCK: u32 = 64;

/// All candidates of one history.
pub struct Cycles<'h> {
    history: &'h History,
    transactions: &'h Transactions,
    context: &'h Context,
    depend: Depend<'h>,
    sections: Sections,
    bounds: Bounds,
    limits: SearchLimits<'h>,
    /// Asked how many times whether there are enough.
    asked: Counter<u32>,
    over: Counter<bool>,
}

/// The candidates of a block.
pub struct BlockCycles {
    pub cycles: Vec<Cycle>,
    /// There are more than the bounds allow.
    pub more: bool,
}

/// A way that has left the block.
struct Way<'f> {
    block: Block,
    /// Of the block, so far without the way back.
    edges: Vec<(Pos, Pos)>,
    used: Vec<bool>,
    /// The step that is too many for ways that begin like this one.
    until: u32,
    seen: &'f mut FastSet<Vec<(Pos, Pos)>>,
    found: &'f mut BlockCycles,
}

impl<'h> Cycles<'h> {
    pub fn new(history: &'h History, transactions: &'h Transactions, context: &'h Context, bounds: Bounds) -> Self {
        let (limits, asked, over) = Default::default();
        let (depend, sections) = (Depend::new(history), Sections::new(history));
        Self { history, transactions, context, depend, sections, bounds, limits, asked, over }
    }

    /// No longer than that: in a long block ways are many, and few of them lead back.
    pub fn within(self, limits: &SearchLimits<'h>) -> Self {
        Self { limits: *limits, ..self }
    }

    /// The candidates for one block, short cycles first.
    pub fn of(&self, block: Block) -> BlockCycles {
        self.of_wanted(block, &mut |_, _| u32::MAX)
    }

    /// The candidates for one block, as far as somebody wants to look for ways from it to other threads: `wanted` is
    /// told where a way enters another thread and how many steps were spent on such ways just now, and says how many
    /// more are worth it.
    pub fn of_wanted(&self, block: Block, wanted: &mut dyn FnMut(Pos, u32) -> u32) -> BlockCycles {
        let mut found = BlockCycles { cycles: Vec::new(), more: false };
        let mut seen = FastSet::default();
        let (first, last) = self.transactions.ends(block);
        let thread = self.history.step(first).thread;
        let events = self.between(thread, self.place(first), self.place(last));
        // Entries to other threads, and where the block is left for them: the first possible exit, so each once.
        let mut entries = FastSet::default();
        for &exit in events {
            if self.enough(&mut found) {
                break;
            }
            if self.history.step(exit).event.is_none() {
                continue;
            }
            for entry in self.near(exit, &mut found) {
                if !entries.insert(entry) || self.context.ordered(entry, exit) {
                    continue;
                }
                let allowed = wanted(entry, 0);
                if allowed == 0 {
                    continue;
                }
                let mut used = vec![false; self.history.threads.len()];
                used[thread.index()] = true;
                let edges = vec![(exit, entry)];
                let began = self.asked.get();
                let until = began.saturating_add(allowed);
                let mut way = Way { block, edges, used, until, seen: &mut seen, found: &mut found };
                self.go_on(&mut way, entry);
                wanted(entry, self.asked.get() - began);
            }
        }
        found.cycles.sort_by_key(|cycle| (cycle.edges.len(), !cycle.is_data(self.history), spread(cycle)));
        if found.cycles.len() > self.bounds.cycles {
            found.cycles.truncate(self.bounds.cycles);
            found.more = true;
        }
        found
    }

    /// There are so many already that the best of them will do, or the time is over.
    fn enough(&self, found: &mut BlockCycles) -> bool {
        self.asked.set(self.asked.get().wrapping_add(1));
        // The clock costs as much as a step on the way.
        let over = self.asked.get().is_multiple_of(CLOCK) && self.limits.is_over();
        let enough = over || self.over.get() || found.cycles.len() / 4 > self.bounds.cycles;
        self.over.set(self.over.get() || over);
        found.more |= enough;
        enough
    }

    fn place(&self, pos: Pos) -> u32 {
        self.depend.place[pos.index()]
    }

    /// Events of a thread by their places, the last one included.
    fn between(&self, thread: Thread, from: u32, to: u32) -> &'h [Pos] {
        &self.history.threads[thread.index()][from as usize..=to as usize]
    }

    /// The way has come to thread `k` at `entry`: closes it where it can, and leads it on to other threads.
    fn go_on(&self, way: &mut Way<'_>, entry: Pos) {
        let thread = self.history.step(entry).thread;
        if way.used[thread.index()] || self.history.step(entry).event.is_none() {
            return;
        }
        let from = self.place(self.transactions.start(entry));
        let (left_at, _) = way.edges[0];
        let (_, last) = self.transactions.ends(way.block);
        let block_thread = self.history.step(last).thread;
        for &back in &self.between(block_thread, self.place(left_at), self.place(last))[1..] {
            if self.enough(way.found) || self.asked.get() >= way.until {
                return;
            }
            if let Some(exit) = self.depend.first_before(thread, from, back)
                && !self.context.ordered(back, exit)
            {
                let edges: Vec<(Pos, Pos)> = way.edges.iter().copied().chain([(exit, back)]).collect();
                if !self.sections.forbid(&edges) && way.seen.insert(edges.clone()) {
                    way.found.cycles.push(Cycle { block: way.block, edges });
                }
            }
        }
        if way.edges.len() + 1 >= self.history.threads.len().min(self.bounds.threads) {
            return;
        }
        way.used[thread.index()] = true;
        let until = self.history.threads[thread.index()].len() as u32 - 1;
        let mut entries = FastSet::default();
        for &exit in self.between(thread, from, until).iter().take(self.bounds.near) {
            for next in self.near(exit, way.found) {
                if self.asked.get() >= way.until {
                    break;
                }
                if self.enough(way.found) || !entries.insert(next) || self.context.ordered(next, exit) {
                    continue;
                }
                way.edges.push((exit, next));
                self.go_on(way, next);
                way.edges.pop();
            }
        }
        way.used[thread.index()] = false;
    }

    /// Events that depend on this one, those nearest to it if there are too many.
    fn near(&self, to: Pos, found: &mut BlockCycles) -> Vec<Pos> {
        let (all, more) = self.depend.later(to, self.bounds.near);
        found.more |= more;
        all
    }
}

/// How far apart the events of a cycle are: those that lie together are the likelier ones.
fn spread(cycle: &Cycle) -> u32 {
    let events = || cycle.edges.iter().flat_map(|(a, b)| [a.0, b.0]);
    events().max().unwrap_or(0) - events().min().unwrap_or(0)
}
