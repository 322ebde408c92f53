//! The checker: does the entries of a cut as a run would.
//!
//! Shares no code with [`crate::lower`], [`crate::order`] and [`crate::rules`]: it reads the events, and what each call
//! waits for is written down here once more (R3, R4, R7, R13, R14, R17, R19).

use std::collections::{HashMap, HashSet};

use super::explain::Words;
use super::{At, Witness};
use crate::event::{Collective, Event, Flow, Logs, Operator, Place};
use crate::ids::{Communicator, Object, Rank, Request, Window};

/// Why a witness proves nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rejected {
    /// No run comes to the cut.
    Unreachable,
    /// There, a value was returned that nobody can have written.
    Unexplained,
    /// There, one of the two has not begun or is over.
    NotUnderWay,
    /// They do not touch a common byte, or nobody writes.
    NoConflict,
}

/// What an entry waits for.
pub(super) enum Need {
    All(Vec<At>),
    Any(Vec<At>),
}

/// A lock, and who holds it how.
type Holder = (At, bool);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Lock {
    Window(Window, Rank),
    Word(u64),
    Mutex(usize, Object),
}

/// Knows what the entries of the logs wait for.
pub struct Checker<'a> {
    logs: &'a Logs,
    needs: HashMap<At, Need>,
    words: Words,
}

pub(super) struct World<'a> {
    pub(super) logs: &'a Logs,
    pub(super) needs: &'a HashMap<At, Need>,
    /// When each entry was done, counted from 1; 0: not yet.
    done: Vec<Vec<u32>>,
    last: u32,
    held: HashMap<Lock, Vec<Holder>>,
}

impl<'a> Checker<'a> {
    pub fn new(logs: &'a Logs) -> Checker<'a> {
        Checker { logs, needs: needs(logs), words: Words::new(logs) }
    }

    /// Judges a witness. `letter`: by the letter of the standard, where practice is kinder.
    pub fn check(&self, witness: &Witness, letter: bool) -> Result<(), Rejected> {
        let done = self.logs.iter().map(|log| vec![0; log.len()]).collect();
        let mut world = World { logs: self.logs, needs: &self.needs, done, last: 0, held: HashMap::new() };
        world.advance(&witness.cut)?;
        if !self.words.explained(|at| world.done[at.0][at.1]) {
            return Err(Rejected::Unexplained);
        }
        if !world.conflict(&witness.parties) {
            return Err(Rejected::NoConflict);
        }
        let both = witness.parties.iter().all(|party| world.under_way(*party, letter));
        if both { Ok(()) } else { Err(Rejected::NotUnderWay) }
    }
}

impl World<'_> {
    /// Does the entries of the cut, each when it can be done.
    fn advance(&mut self, cut: &[Vec<usize>]) -> Result<(), Rejected> {
        let logs = self.logs;
        let mut lanes: Vec<(Vec<At>, usize)> = Vec::new();
        for (rank, log) in logs.iter().enumerate() {
            for (strand, &count) in cut.get(rank).into_iter().flatten().enumerate() {
                let own = (0..log.len()).filter(|&index| log[index].strand as usize == strand);
                lanes.push((own.take(count).map(|index| (rank, index)).collect(), 0));
            }
        }
        loop {
            let mut moved = false;
            for (entries, next) in &mut lanes {
                while let Some(&at) = entries.get(*next) {
                    if !self.ready(at) {
                        break;
                    }
                    self.last += 1;
                    self.done[at.0][at.1] = self.last;
                    *next += 1;
                    moved = true;
                }
            }
            if lanes.iter().all(|(entries, next)| *next == entries.len()) {
                return Ok(());
            }
            if !moved {
                return Err(Rejected::Unreachable);
            }
        }
    }

    pub(super) fn is_done(&self, at: At) -> bool {
        self.done[at.0][at.1] > 0
    }

    pub(super) fn event(&self, at: At) -> &Event {
        &self.logs[at.0][at.1].event
    }

    /// Has what the entry waits for happened?
    pub(super) fn enabled(&self, at: At) -> bool {
        match self.needs.get(&at) {
            None => true,
            Some(Need::All(needed)) => needed.iter().all(|&needed| self.is_done(needed)),
            Some(Need::Any(needed)) => needed.iter().any(|&needed| self.is_done(needed)),
        }
    }

    /// The same; what takes a lock has it then.
    fn ready(&mut self, at: At) -> bool {
        if !self.enabled(at) {
            return false;
        }
        let rank = at.0;
        let logs = self.logs;
        match &logs[at.0][at.1].event {
            Event::Lock { window, target, exclusive } => self.take(Lock::Window(*window, *target), at, *exclusive),
            Event::LockAll { window } => {
                let free =
                    (0..logs.len() as u32).all(|target| self.free(Lock::Window(*window, Rank(target)), at, false));
                if free {
                    for target in 0..logs.len() as u32 {
                        self.take(Lock::Window(*window, Rank(target)), at, false);
                    }
                }
                free
            }
            Event::Unlock { window, target } => self.give(Lock::Window(*window, *target), rank),
            Event::UnlockAll { window } => {
                (0..logs.len() as u32).all(|target| self.give(Lock::Window(*window, Rank(target)), rank))
            }
            Event::SetLock { word } => self.take(Lock::Word(*word), at, true),
            Event::ClearLock { word } => self.give(Lock::Word(*word), rank),
            Event::MutexLock { mutex } => self.take(Lock::Mutex(rank, *mutex), at, true),
            Event::MutexUnlock { mutex } => self.give(Lock::Mutex(rank, *mutex), rank),
            _ => true,
        }
    }

    fn free(&self, lock: Lock, at: At, exclusive: bool) -> bool {
        let strand = |at: At| self.logs[at.0][at.1].strand;
        let same = |holder: At| match lock {
            Lock::Mutex(..) => strand(holder) == strand(at),
            _ => holder.0 == at.0,
        };
        self.held.get(&lock).into_iter().flatten().all(|&(holder, other)| same(holder) || !(exclusive || other))
    }

    fn take(&mut self, lock: Lock, at: At, exclusive: bool) -> bool {
        let free = self.free(lock, at, exclusive);
        if free {
            self.held.entry(lock).or_default().push((at, exclusive));
        }
        free
    }

    fn give(&mut self, lock: Lock, rank: usize) -> bool {
        if let Some(held) = self.held.get_mut(&lock)
            && let Some(own) = held.iter().rposition(|(holder, _)| holder.0 == rank)
        {
            held.remove(own);
        }
        true
    }
}

/// The events of a rank.
pub(super) fn events(logs: &Logs, rank: usize) -> impl Iterator<Item = (At, &Event)> {
    logs.get(rank).into_iter().flatten().enumerate().map(move |(index, logged)| ((rank, index), &logged.event))
}

/// What entries wait for, for the whole run.
fn needs(logs: &Logs) -> HashMap<At, Need> {
    let mut needs = HashMap::new();
    fences(logs, &mut needs);
    exposures(logs, &mut needs);
    messages(logs, &mut needs);
    collectives(logs, &mut needs);
    let writers = writers(logs);
    let of = |owner: usize, place: Place| writers.get(&(owner, place)).into_iter().flatten();
    for rank in 0..logs.len() {
        let mut releases: HashMap<Object, Vec<At>> = HashMap::new();
        for (at, event) in events(logs, rank) {
            match event {
                Event::Release { object } => releases.entry(*object).or_default().push(at),
                Event::Acquire { object } => {
                    needs.insert(at, Need::All(releases.get(object).cloned().unwrap_or_default()));
                }
                Event::Waiting { place, comparison, wanted, initially: false, .. } => {
                    let satisfies =
                        |value: Option<u64>| value.is_none_or(|value| comparison.holds(value as i64, *wanted));
                    let others = of(rank, *place).filter(|(write, value)| write.0 != rank && satisfies(*value));
                    some(&mut needs, at, others.map(|(write, _)| *write).collect());
                }
                Event::Returned { owner, place, value } if *value != 0 => {
                    let same = |written: Option<u64>| written.is_none_or(|written| written == *value);
                    let all = of(owner.0 as usize, *place).filter(|(_, value)| same(*value));
                    some(&mut needs, at, all.map(|(write, _)| *write).collect());
                }
                _ => {}
            }
        }
    }
    needs
}

/// What waits for one of these, if there are any.
fn some(needs: &mut HashMap<At, Need>, at: At, writers: Vec<At>) {
    if !writers.is_empty() {
        needs.insert(at, Need::Any(writers));
    }
}

/// Updates of a word, each with what it leaves there, if that is known.
type Writers = HashMap<(usize, Place), Vec<(At, Option<u64>)>>;

fn writers(logs: &Logs) -> Writers {
    let mut found = Writers::new();
    for rank in 0..logs.len() {
        for (at, event) in events(logs, rank) {
            let Event::Operation(operation) = event else { continue };
            let known = match operation.action.operator() {
                None | Some(Operator::Replace) => operation.value,
                Some(_) => None,
            };
            if operation.action.writes() {
                found.entry((operation.target.0 as usize, operation.place)).or_default().push((at, known));
            }
        }
    }
    found
}

/// R3: leaving a fence waits for everybody's entering, unless somebody said that nothing precedes.
fn fences(logs: &Logs, needs: &mut HashMap<At, Need>) {
    let mut entered: HashMap<(Window, u32), Vec<At>> = HashMap::new();
    let mut left: Vec<(At, (Window, u32))> = Vec::new();
    let mut void: HashSet<(Window, u32)> = HashSet::new();
    for rank in 0..logs.len() {
        let mut counts: HashMap<Window, u32> = HashMap::new();
        for (at, event) in events(logs, rank) {
            match event {
                Event::Fence { window, no_precede, .. } => {
                    let count = counts.entry(*window).or_default();
                    *count += 1;
                    entered.entry((*window, *count)).or_default().push(at);
                    if *no_precede {
                        void.insert((*window, *count));
                    }
                }
                Event::FenceDone { window } => left.push((at, (*window, counts.get(window).copied().unwrap_or(0)))),
                _ => {}
            }
        }
    }
    for (at, key) in left.into_iter().filter(|(_, key)| !void.contains(key)) {
        needs.insert(at, Need::All(entered.get(&key).cloned().unwrap_or_default()));
    }
}

/// R4: waiting for an exposure epoch waits for its origins' completes.
fn exposures(logs: &Logs, needs: &mut HashMap<At, Need>) {
    // (window, origin, target, number of the epoch between them)
    let mut completes: HashMap<(Window, usize, usize, u32), At> = HashMap::new();
    for rank in 0..logs.len() {
        let mut counts: HashMap<(Window, usize), u32> = HashMap::new();
        let mut open: HashMap<Window, Vec<(usize, u32)>> = HashMap::new();
        for (at, event) in events(logs, rank) {
            match event {
                Event::Start { window, targets } => {
                    open.insert(*window, number(&mut counts, *window, targets));
                }
                Event::Complete { window } => {
                    for (target, number) in open.remove(window).unwrap_or_default() {
                        completes.insert((*window, rank, target, number), at);
                    }
                }
                _ => {}
            }
        }
    }
    for rank in 0..logs.len() {
        let mut counts: HashMap<(Window, usize), u32> = HashMap::new();
        let mut open: HashMap<Window, Vec<(usize, u32)>> = HashMap::new();
        for (at, event) in events(logs, rank) {
            match event {
                Event::Post { window, origins } => {
                    open.insert(*window, number(&mut counts, *window, origins));
                }
                Event::Waited { window } => {
                    let epochs = open.remove(window).unwrap_or_default();
                    let of = |(origin, number): (usize, u32)| completes.get(&(*window, origin, rank, number)).copied();
                    needs.insert(at, Need::All(epochs.into_iter().filter_map(of).collect()));
                }
                _ => {}
            }
        }
    }
}

fn number(counts: &mut HashMap<(Window, usize), u32>, window: Window, ranks: &[Rank]) -> Vec<(usize, u32)> {
    let mut next = |rank: &Rank| {
        let count = counts.entry((window, rank.0 as usize)).or_default();
        *count += 1;
        (rank.0 as usize, *count)
    };
    ranks.iter().map(&mut next).collect()
}

/// R13: the k-th message of a kind goes to the k-th posted receive that got one of that kind.
fn messages(logs: &Logs, needs: &mut HashMap<At, Need>) {
    type Kind = (Communicator, usize, usize, i32);
    let mut sends: HashMap<Kind, Vec<At>> = HashMap::new();
    let mut taken: HashMap<(usize, Request), At> = HashMap::new();
    for rank in 0..logs.len() {
        for (at, event) in events(logs, rank) {
            match event {
                Event::Send { communicator, to, tag, .. } => {
                    sends.entry((*communicator, rank, to.0 as usize, *tag)).or_default().push(at);
                }
                Event::Taken { request } => drop(taken.insert((rank, *request), at)),
                _ => {}
            }
        }
    }
    for rank in 0..logs.len() {
        let mut got: HashMap<Request, (At, usize, i32)> = HashMap::new();
        for (at, event) in events(logs, rank) {
            if let Event::Received { request, from, tag } = event {
                got.insert(*request, (at, from.0 as usize, *tag));
            }
        }
        let mut counts: HashMap<Kind, usize> = HashMap::new();
        for (posted, event) in events(logs, rank) {
            let Event::Posted { communicator, request, .. } = event else { continue };
            let Some(&(at, from, tag)) = got.get(request) else { continue };
            let kind = (*communicator, from, rank, tag);
            let count = counts.entry(kind).or_default();
            let Some(&send) = sends.get(&kind).and_then(|sends| sends.get(*count)) else { continue };
            *count += 1;
            needs.insert(at, Need::All(vec![send]));
            if let Event::Send { synchronous: Some(sent), .. } = &logs[send.0][send.1].event
                && let Some(&taken) = taken.get(&(from, *sent))
            {
                needs.insert(taken, Need::All(vec![posted]));
            }
        }
    }
}

/// R14: leaving waits for those who have something to say.
fn collectives(logs: &Logs, needs: &mut HashMap<At, Need>) {
    let mut entered: HashMap<Collective, Vec<(At, &Flow, bool)>> = HashMap::new();
    for rank in 0..logs.len() {
        for (at, event) in events(logs, rank) {
            if let Event::Enter { collective, flow, contributes } = event {
                entered.entry(*collective).or_default().push((at, flow, *contributes));
            }
        }
    }
    for rank in 0..logs.len() {
        for (at, event) in events(logs, rank) {
            let Event::Exit { collective } = event else { continue };
            let Some(all) = entered.get(collective) else { continue };
            let Some((_, flow, _)) = all.iter().find(|(enter, ..)| enter.0 == rank) else { continue };
            let of = |wanted: &dyn Fn(usize, bool) -> bool| -> Vec<At> {
                all.iter().filter(|(enter, _, gives)| wanted(enter.0, *gives)).map(|(enter, ..)| *enter).collect()
            };
            let named = |ranks: &[Rank], other: usize| ranks.contains(&Rank(other as u32));
            let needed = match flow {
                Flow::All { .. } => of(&|_, gives| gives),
                Flow::FromRoot { root } => of(&|other, _| other == root.0 as usize),
                Flow::ToRoot { root, .. } if root.0 as usize == rank => of(&|_, gives| gives),
                Flow::ToRoot { .. } => Vec::new(),
                Flow::Prefix { before } => of(&|other, _| named(before, other)),
                Flow::Pairs { from, .. } => of(&|other, _| named(from, other)),
            };
            needs.insert(at, Need::All(needed));
        }
    }
}
