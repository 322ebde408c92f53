//! The questions of a window that are worth asking, by code position of the read and of the write: one answer per pair
//! of lines is what people want to know, not one per pair of events.

use std::collections::{BTreeMap, HashSet};

use reweave_model::Pc;

use super::views::Views;
use crate::history::*;
use crate::lower::Lowered;
use crate::search::{all_are_near, near};

/// Questions per group; a group without an answer by so many tries is given up (and counted).
pub const TRIES: usize = 40;

/// Quick checks per group. Each looks at every thread that writes, and there is one group for all pairs of threads that
/// run the same lines: thousands of threads would take hours.
const CHECKS: usize = 20_000;

/// Which lines: of the read (`None`: the end of the run) and of the other write (`None`: what was there at first).
pub type Lines = (Option<Pc>, Option<Pc>);

/// Does this read see that write in this cell? Without a read: does the run end with it?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Candidate {
    pub read: Option<Pos>,
    pub cell: Cell,
    pub writer: Option<Pos>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    pub lines: Lines,
    // invariant: at most `TRIES`
    pub candidates: Vec<Candidate>,
    /// More passed the quick check, or could have, than are listed.
    pub more: bool,
}

#[derive(Default)]
struct Users {
    reads: BTreeMap<(Pc, Thread), Vec<Pos>>,
    writes: BTreeMap<(Pc, Thread), Vec<Pos>>,
}

/// The groups of a window, except those that are `done`.
pub fn groups(window: &Lowered, views: &Views<'_>, done: &HashSet<Lines>) -> Vec<Group> {
    let history = &window.history;
    let mut cells: Vec<Users> = history.initial.iter().map(|_| Users::default()).collect();
    for pos in history.positions() {
        let step = history.step(pos);
        // What nobody was seen to write is no line of the program.
        let (Some(access), Some(_)) = (step.action.access(), step.event) else { continue };
        let key = (window.origin(pos).pc, step.thread);
        for (cell, _) in &access.reads {
            cells[cell.index()].reads.entry(key).or_default().push(pos);
        }
        for (cell, _) in &access.writes {
            cells[cell.index()].writes.entry(key).or_default().push(pos);
        }
    }
    let mut groups = Groups { done, groups: BTreeMap::new(), checks: BTreeMap::new() };
    for (cell, users) in cells.iter().enumerate() {
        let cell = Cell(cell as u32);
        for ((read_pc, _), reads) in &users.reads {
            for ((write_pc, _), writes) in &users.writes {
                let lines = (Some(*read_pc), Some(*write_pc));
                groups.add(lines, !all_are_near(reads, writes, TRIES), near(reads, writes, TRIES), |(read, writer)| {
                    let fits = views.seen(read, cell) != Some(writer) && views.may_see(read, cell, Some(writer));
                    fits.then_some(Candidate { read: Some(read), cell, writer: Some(writer) })
                });
            }
            // Before a window that is not the first there were other writes: that is not what was there at first.
            if window.first {
                groups.add((Some(*read_pc), None), false, reads.iter().copied(), |read| {
                    let fits = views.seen(read, cell).is_some() && views.may_see(read, cell, None);
                    fits.then_some(Candidate { read: Some(read), cell, writer: None })
                });
            }
        }
        if window.last {
            for ((write_pc, _), writes) in &users.writes {
                // Of one thread only its last write can stay.
                let last = writes.iter().rev().take(1).copied();
                groups.add((None, Some(*write_pc)), false, last, |writer| {
                    let fits = views.last(cell) != Some(writer);
                    fits.then_some(Candidate { read: None, cell, writer: Some(writer) })
                });
            }
        }
    }
    let Groups { groups, checks, .. } = groups;
    let given_up = |group: &Group| checks.get(&group.lines).is_some_and(|own| *own >= CHECKS);
    let is_question = |group: &Group| !group.candidates.is_empty() || given_up(group);
    let mut groups: Vec<Group> = groups.into_values().filter(is_question).collect();
    for group in &mut groups {
        let distance = |candidate: &Candidate| match (candidate.read, candidate.writer) {
            (Some(read), Some(writer)) => read.0.abs_diff(writer.0),
            (Some(read), None) => read.0,
            (None, Some(writer)) => u32::MAX - writer.0,
            (None, None) => 0,
        };
        group.candidates.sort_by_key(distance);
    }
    groups
}

struct Groups<'d> {
    done: &'d HashSet<Lines>,
    groups: BTreeMap<Lines, Group>,
    /// Quick checks so far.
    checks: BTreeMap<Lines, usize>,
}

impl Groups<'_> {
    /// Adds the candidates among `pairs`; `cut`: these are not all.
    fn add<T>(
        &mut self,
        lines: Lines,
        cut: bool,
        pairs: impl Iterator<Item = T>,
        candidate: impl Fn(T) -> Option<Candidate>,
    ) {
        if self.done.contains(&lines) {
            return;
        }
        let group = self.groups.entry(lines).or_insert(Group { lines, candidates: Vec::new(), more: false });
        let checks = self.checks.entry(lines).or_default();
        group.more |= cut;
        for pair in pairs {
            if group.candidates.len() >= TRIES || *checks >= CHECKS {
                group.more = true;
                break;
            }
            *checks += 1;
            if let Some(candidate) = candidate(pair)
                && !group.candidates.contains(&candidate)
            {
                group.candidates.push(candidate);
            }
        }
    }
}
