//! Which writes a read of one history can see: the question of the exact rule, and the call that exploration lives on.
//!
//! Guarantee: [`Views::alternatives`] lists every write (and the time before all writes) that some feasible reordering
//! of the history lets the read see, other than the one it saw, each with an order that the [checker](crate::witness)
//! accepted; what the engine did not settle in time is listed apart. The read is next after that order, not in it: its
//! own value is free. So a compare-exchange, whose outcome steers its thread, can see a value that would make it end
//! otherwise; an exchange and an update are reads like any other.

use std::collections::HashMap;

use reweave_model::LockMode;

use crate::feasible::{Feasibility, Goal, Index, Question};
use crate::history::*;
use crate::search::{Context, SearchLimits};
use crate::witness;

/// A write that a read can see instead of the one it saw.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alternative {
    pub cell: Cell,
    /// `None`: what was there at first.
    pub writer: Option<Pos>,
    /// After these events the read is next and would see it.
    pub order: Vec<Pos>,
    /// What it would return then, as far as this cell goes; [`Val::UNKNOWN`] if nobody knows.
    pub value: Val,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Alternatives {
    pub found: Vec<Alternative>,
    /// Not settled.
    pub unknown: Vec<(Cell, Option<Pos>)>,
}

/// The answer to one question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    Sees(Alternative),
    Never,
    Unknown,
    /// The checker does not accept the engine's order: a mistake of the engine.
    Refused,
}

/// What is looked up again and again in one history.
pub struct Views<'h> {
    history: &'h History,
    index: Index<'h>,
    order: Context,
    /// The writers of each cell by thread, in program order.
    writers: Vec<Vec<(Thread, Vec<Pos>)>>,
    /// For each read the writer it saw, cell by cell as in [`Access::reads`].
    seen: HashMap<Pos, Vec<Option<Pos>>>,
    /// The writer of each cell when everything is over.
    last: Vec<Option<Pos>>,
    /// The acquisitions in force at each event, as a number.
    held: Vec<u32>,
    sections: Vec<Vec<Section>>,
}

/// A lock that is held, and since when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Section {
    lock: Lock,
    mode: LockMode,
    since: Pos,
}

impl<'h> Views<'h> {
    pub fn new(history: &'h History) -> Self {
        let index = Index::new(history);
        let order = Context::new(history, &index);
        let mut views = Self {
            history,
            index,
            order,
            writers: vec![Vec::new(); history.initial.len()],
            seen: HashMap::new(),
            last: vec![None; history.initial.len()],
            held: Vec::with_capacity(history.steps.len()),
            sections: vec![Vec::new()],
        };
        let mut now: Vec<u32> = vec![0; history.threads.len()];
        for pos in history.positions() {
            let step = history.step(pos);
            let held = &mut now[step.thread.index()];
            let mut change = |change: &dyn Fn(&mut Vec<Section>)| {
                let mut set = views.sections[*held as usize].clone();
                change(&mut set);
                *held = views.sections.len() as u32;
                views.sections.push(set);
            };
            match step.action {
                Action::Acquire { lock, mode } => change(&|set| set.push(Section { lock, mode, since: pos })),
                Action::Woken { lock, .. } => {
                    change(&|set| set.push(Section { lock, mode: LockMode::Exclusive, since: pos }));
                }
                Action::Release { lock, .. } | Action::Wait { lock, .. } => {
                    change(&|set| set.retain(|section| section.lock != lock));
                }
                _ => {}
            }
            views.held.push(*held);
            if let Some(access) = step.action.access() {
                if !access.reads.is_empty() {
                    let seen = access.reads.iter().map(|(cell, _)| views.last[cell.index()]).collect();
                    views.seen.insert(pos, seen);
                }
                for (cell, _) in &access.writes {
                    views.last[cell.index()] = Some(pos);
                    let lists = &mut views.writers[cell.index()];
                    match lists.iter_mut().find(|(thread, _)| *thread == step.thread) {
                        Some((_, list)) => list.push(pos),
                        None => lists.push((step.thread, vec![pos])),
                    }
                }
            }
        }
        views
    }

    /// The writer that a read saw in one of its cells; `None`: what was there at first.
    pub fn seen(&self, read: Pos, cell: Cell) -> Option<Pos> {
        let reads = &self.history.step(read).action.access().expect("a read").reads;
        let at = reads.binary_search_by_key(&cell, |(cell, _)| *cell).expect("it reads this cell");
        self.seen[&read][at]
    }

    /// The writer of a cell when everything is over.
    pub fn last(&self, cell: Cell) -> Option<Pos> {
        self.last[cell.index()]
    }

    /// All writers of a cell, by thread and in program order.
    pub fn writers(&self, cell: Cell) -> impl Iterator<Item = Pos> + '_ {
        self.writers[cell.index()].iter().flat_map(|(_, list)| list.iter().copied())
    }

    /// Every other write that the read can see, with the order that shows it.
    pub fn alternatives(&self, read: Pos, limits: &SearchLimits<'_>) -> Alternatives {
        let mut all = Alternatives::default();
        for &(cell, _) in self.history.step(read).action.access().map_or(&[][..], |access| &access.reads) {
            let seen = self.seen(read, cell);
            let writers = std::iter::once(None).chain(self.writers(cell).map(Some));
            for writer in writers.filter(|writer| *writer != seen) {
                if limits.is_over() {
                    all.unknown.push((cell, writer));
                    break;
                }
                if !self.may_see(read, cell, writer) {
                    continue;
                }
                match self.ask(read, cell, writer, limits) {
                    Verdict::Sees(alternative) => all.found.push(alternative),
                    Verdict::Never => {}
                    Verdict::Unknown | Verdict::Refused => all.unknown.push((cell, writer)),
                }
            }
        }
        all
    }

    /// Whether the read can see this writer.
    pub fn ask(&self, read: Pos, cell: Cell, writer: Option<Pos>, limits: &SearchLimits<'_>) -> Verdict {
        let goal = Goal::reads_from(read, cell, writer);
        self.answer(goal, cell, writer, limits, |order| {
            witness::check_reads_from(self.history, limits.mode, order, read, cell, writer)
        })
    }

    /// Whether the cell can hold what this writer put there when everything is over.
    pub fn ask_end(&self, cell: Cell, writer: Option<Pos>, limits: &SearchLimits<'_>) -> Verdict {
        self.answer(Goal::ends_with(cell, writer), cell, writer, limits, |order| {
            witness::check_ends_with(self.history, limits.mode, order, cell, writer)
        })
    }

    fn answer(
        &self,
        goal: Goal,
        cell: Cell,
        writer: Option<Pos>,
        limits: &SearchLimits<'_>,
        check: impl FnOnce(&[Pos]) -> Result<Val, witness::Rejection>,
    ) -> Verdict {
        let Some(question) = Question::new(&self.index, limits.mode, goal) else { return Verdict::Never };
        match question.ask(limits.question()).0 {
            Feasibility::No => Verdict::Never,
            Feasibility::Unknown(_) => Verdict::Unknown,
            Feasibility::Reordering(order) => match check(&order) {
                Ok(value) => Verdict::Sees(Alternative { cell, writer, order, value }),
                Err(_) => Verdict::Refused,
            },
        }
    }

    /// The quick check. `false`: no reordering lets the read see this writer.
    pub fn may_see(&self, read: Pos, cell: Cell, writer: Option<Pos>) -> bool {
        let own = self.history.step(read).thread;
        let lists = &self.writers[cell.index()];
        // The last writers, one per thread, that come before the read in every reordering.
        let place = |pos: Pos| self.order.before(pos, self.history.step(pos).thread) - 1;
        let certain = |(thread, list): &'_ (Thread, Vec<Pos>)| {
            let before = if *thread == own { place(read) } else { self.order.before(read, *thread) };
            list[..list.partition_point(|&writer| place(writer) < before)].last().copied()
        };
        let Some(writer) = writer else { return lists.iter().all(|list| certain(list).is_none()) };
        if writer == read || self.order.ordered(read, writer) {
            return false;
        }
        let overwrites = |other: Pos| other != writer && self.order.ordered(writer, other);
        if lists.iter().filter_map(certain).any(overwrites) {
            return false;
        }
        let thread = self.history.step(writer).thread;
        if thread == own {
            return true;
        }
        // Somebody who holds the lock at the read comes before or after the whole section of the writer, and so sees
        // the last write of that section; and nobody in another section comes between a write and a read of one
        // section.
        let list_of = |thread: Thread| lists.iter().find(|(other, _)| *other == thread).map(|(_, list)| list);
        let next = list_of(thread).and_then(|list| list.get(list.partition_point(|&pos| pos <= writer)).copied());
        let before = list_of(own).and_then(|list| list[..list.partition_point(|&pos| pos < read)].last().copied());
        !next.is_some_and(|next| self.section_apart(writer, next, read))
            && !before.is_some_and(|before| self.section_apart(before, read, writer))
    }

    /// Whether one section has the first two events and no other event of its lock can come between them, as the third
    /// one is.
    fn section_apart(&self, first: Pos, second: Pos, other: Pos) -> bool {
        let held = |pos: Pos| &self.sections[self.held[pos.index()] as usize];
        held(first).iter().any(|section| {
            held(second).contains(section)
                && held(other).iter().any(|other| {
                    other.lock == section.lock
                        && (other.mode == LockMode::Exclusive || section.mode == LockMode::Exclusive)
                })
        })
    }

    /// Whether the writer's value is what was observed in every reordering of this mode that has it.
    pub fn is_certain(&self, writer: Pos, mode: Mode) -> bool {
        match mode {
            Mode::Prefix | Mode::Said => true,
            Mode::DataAbstract => false,
            Mode::ControlFlow => {
                let step = self.history.step(writer);
                if step.action.access().is_some_and(|access| access.kind == AccessKind::Update) {
                    return false;
                }
                let vouches = |pos: Pos| {
                    let step = self.history.step(pos);
                    step.guarded || step.action.is_outcome()
                };
                let reads = |pos: Pos| {
                    let action = &self.history.step(pos).action;
                    action.access().is_some_and(|access| !access.reads.is_empty()) && !action.is_outcome()
                };
                // Back to the last event that is there only if all reads before it kept their values.
                let events = &self.history.threads[step.thread.index()];
                let earlier = events[..events.partition_point(|&pos| pos < writer)].iter().rev();
                vouches(writer) || !earlier.copied().take_while(|&pos| reads(pos) || !vouches(pos)).any(reads)
            }
        }
    }

    /// Whether the read would get the same from the two writers, whatever else happens, as far as they share its cells.
    /// Unknown values are never the same.
    pub fn same_value(&self, read: Pos, writer: Option<Pos>, mode: Mode) -> bool {
        let reads = &self.history.step(read).action.access().expect("a read").reads;
        match writer {
            None => {
                mode != Mode::DataAbstract
                    && reads.iter().all(|&(cell, value)| self.history.initial[cell.index()] == value)
            }
            Some(writer) => {
                let writes = &self.history.step(writer).action.access().expect("a write").writes;
                let differs = |&(cell, value): &(Cell, Val)| {
                    let at = reads.binary_search_by_key(&cell, |(cell, _)| *cell);
                    at.is_ok_and(|at| reads[at].1 != value)
                };
                self.is_certain(writer, mode) && !writes.iter().any(differs)
            }
        }
    }
}
