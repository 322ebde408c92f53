//! What a run must show for a finding to be confirmed, kept in the finding's folder so that a replay can look for it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use reweave_model::{
    AccessFlags, Accessor, Addr, AnalysisId, Event, EventId, Finding, Kind, Misuse, ObjectId, Op, Pc, Strength,
    ThreadId,
};
use reweave_predict::analyses::destroyed::recorded::{LateUse, late_uses};
use reweave_predict::analyses::hb::HbRaces;
use reweave_predict::analyses::misuse::Misuses;
use reweave_predict::analyses::serializability::Serializability;
use reweave_predict::endings::{Freed, StuckAt, stuck};
use reweave_predict::linear::{self, Linear};
use reweave_trace::{Outcome, Trace};
use serde::{Deserialize, Serialize};

use super::interleaved::{WantedAccess, interleaved};
use super::{ReadsFrom, last_places, spinning};
use crate::names::{Code, Names};
use crate::replay;
use reweave_launch::{Error, Result};

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Goal {
    pub kind: GoalKind,
    /// A race by the memory model alone: the accesses need not come one right after the other.
    #[serde(default)]
    pub memory_order: bool,
    pub command: Vec<String>,
    pub cwd: String,
    /// Of an atomicity violation: where its block begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<Code>,
    /// That nobody declared.
    #[serde(default)]
    pub inferred: bool,
    /// Of a deadlock: threads go round loops instead of waiting.
    #[serde(default)]
    pub spins: bool,
    /// Who makes the accesses, numbered as they come.
    #[serde(default)]
    pub threads: Vec<u32>,
    /// Which memory they access, numbered as it comes; what is no access has none.
    #[serde(default)]
    pub memory: Vec<Option<u32>>,
    /// Of a failure: that memory was used after it had been freed.
    #[serde(default)]
    pub freed: bool,
    /// Of a nondeterministic read: which write it is to see.
    #[serde(default, rename = "sight", skip_serializing_if = "Option::is_none")]
    pub reads_from: Option<Box<ReadsFrom>>,
    /// Code positions of the accesses (of a deadlock: of what each thread waits for).
    pub accesses: Vec<Code>,
    pub outcome: Outcome,
    /// File name of the trace in the same folder: that of a child process has a number.
    pub trace: String,
}

/// What is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum GoalKind {
    Finding(Kind),
    Breakpoint(Breakpoint),
}

/// Two threads that stand at two lines at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Breakpoint {
    #[serde(rename = "breakpoint")]
    Breakpoint,
}

/// Where a run shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Occurrence {
    /// The code position of the access that came first.
    pub first: Code,
    /// Steps of the run before the bug.
    pub steps_before: u64,
    /// The events that are the accesses of the finding, in its order; those of a race as they came. None: the run does
    /// not have it.
    pub events: Vec<Option<EventId>>,
}

impl Goal {
    /// What a run must show for this finding of `trace`. Its outcome and files are not known yet.
    pub fn of(trace: &Trace, finding: &Finding) -> Result<Self> {
        let command = replay::command_of(trace.meta()).iter().map(|word| word.to_string_lossy().into_owned()).collect();
        Ok(Self {
            kind: GoalKind::Finding(finding.kind),
            memory_order: finding.weak_order,
            command,
            cwd: trace.meta().cwd.clone(),
            block: codes(trace, finding, finding.block.iter().map(|block| block.enter))?.pop(),
            spins: false,
            reads_from: ReadsFrom::of(trace, finding)?.map(Box::new),
            inferred: finding.block.as_ref().is_some_and(|block| !block.declared),
            threads: numbered(finding.accesses().iter().map(|access| access.thread)),
            memory: memory(trace, finding)?,
            freed: false,
            accesses: codes(trace, finding, finding.accesses().iter().map(|access| access.pc))?,
            outcome: Outcome::Unknown,
            trace: super::TRACE.into(),
        })
    }

    pub fn load(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    pub fn save(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        fs::write(path, text + "\n").map_err(Error::output("write", path))
    }

    fn is(&self, kind: Kind) -> bool {
        self.kind == GoalKind::Finding(kind)
    }

    /// Where a run did it, if it did.
    pub fn occurrence(&self, trace: &Trace) -> Result<Option<Occurrence>> {
        match self.accesses[..] {
            _ if self.is(Kind::Nondeterminism) => match &self.reads_from {
                Some(reads_from) => reads_from.occurrence(trace),
                None => Ok(None),
            },
            _ if self.is(Kind::Failure) => self.failed(trace),
            [used, end] if self.is(Kind::Misuse) => too_late(trace, used, end),
            [..] if self.is(Kind::Misuse) => misused(trace, &self.accesses),
            [one, two] if self.is(Kind::Race) && self.memory_order => unordered(trace, one, two),
            [one, two] if self.is(Kind::Race) => adjacent(trace, one, two),
            _ if self.spins => spins(trace),
            [..] if self.is(Kind::Deadlock) => stuck_at(trace, &self.accesses),
            [..] if self.inferred => self.interleaved(trace),
            _ => self.torn(trace),
        }
    }

    /// Whether the run fails in this way, and uses memory that was freed if that is the finding.
    fn failed(&self, trace: &Trace) -> Result<Option<Occurrence>> {
        let ended = trace.footer().map(|footer| &footer.outcome);
        let freed = Freed::of(trace)?;
        let failure = replay::is_failure(&self.outcome);
        let same = ended.is_some_and(|ended| replay::same_outcome(ended, &self.outcome));
        if (self.freed || !failure) && freed.is_none() || failure && !same {
            return Ok(None);
        }
        let events = match freed {
            Some(freed) if self.freed || !failure => BTreeSet::from([freed.free, freed.used]).into_iter().collect(),
            _ => last_places(trace, &self.outcome)?.iter().map(|place| place.event).collect::<Vec<_>>(),
        };
        let at = freed.filter(|_| !failure).map(|freed| freed.used);
        let shown = before(trace, |event| Some(event.id) == at)?;
        Ok(shown.map(|shown| Occurrence { events: events.into_iter().map(Some).collect(), ..shown }))
    }

    /// Whether a run that fails does so where another one does. Replays need not, but a finding that is shrunk must not
    /// turn into another one: a program may have several assertions, hang in several ways, and tear a block in several.
    pub fn fails_alike(&self, one: &Trace, other: &Trace) -> Result<bool> {
        let alike = || -> Result<bool> { Ok(ends_at(one, &self.outcome)? == ends_at(other, &self.outcome)?) };
        match self.kind {
            GoalKind::Finding(Kind::Failure) if !self.freed => alike(),
            // By the accesses of the finding, if the longer run had them: the story is about these.
            GoalKind::Finding(Kind::Atomicity) => {
                let has_them = |trace| -> Result<bool> {
                    Ok(self.occurrence(trace)?.is_some_and(|occurrence| !occurrence.events.is_empty()))
                };
                Ok(!has_them(one)? || has_them(other)?)
            }
            // One that names all who wait: others may wait for those of a deadlock that was predicted.
            GoalKind::Finding(Kind::Deadlock) if self.outcome == Outcome::Hung && !self.spins => {
                Ok(ends_at(one, &self.outcome)?.len() != self.accesses.len() || alike()?)
            }
            _ => Ok(true),
        }
    }

    /// Whether the run itself is one that no order of whole blocks explains, because of a block that begins at this
    /// place.
    fn torn(&self, trace: &Trace) -> Result<Option<Occurrence>> {
        let Some(block) = self.block else { return Ok(None) };
        let mut violations = Serializability::default();
        linear::run(trace, &mut violations, &mut |_| true)?;
        let pairs = violations.finish().pairs;
        let shown = scan(trace, |event, names, steps| {
            let mut here = pairs.iter().filter(|pair| pair.second == event.id);
            let torn = here.any(|pair| names.code(pair.first_pc) == block);
            torn.then(|| Occurrence { first: block, steps_before: steps, events: Vec::new() })
        })?;
        let Some(shown) = shown else { return Ok(None) };
        // Who came in between is seen from the accesses alone.
        let events = self.interleaved(trace)?.map(|interleaved| interleaved.events).unwrap_or_default();
        Ok(Some(Occurrence { events, ..shown }))
    }

    /// Whether the accesses come in this order, see [`interleaved`].
    fn interleaved(&self, trace: &Trace) -> Result<Option<Occurrence>> {
        if self.accesses.is_empty() || self.threads.len() != self.accesses.len() {
            return Ok(None);
        }
        let ends = [self.accesses.len() - 1, 0];
        // Older findings say nothing about memory but that the last access is where the first one was.
        let memory = |at: usize| self.memory.get(at).copied().unwrap_or(ends.contains(&at).then_some(0));
        let wanted = |at: usize| WantedAccess { code: self.accesses[at], thread: self.threads[at], memory: memory(at) };
        interleaved(trace, &(0..self.accesses.len()).map(wanted).collect::<Vec<_>>())
    }

    /// Whether a run did it.
    pub fn reached(&self, trace: &Trace, outcome: &Outcome) -> Result<bool> {
        // A breakpoint: nothing to look for but what came of it.
        if self.accesses.is_empty() && !self.is(Kind::Failure) {
            return Ok(replay::same_outcome(&self.outcome, outcome));
        }
        Ok(self.occurrence(trace)?.is_some())
    }

    /// The number of steps of this trace before the bug.
    pub fn steps_before(&self, trace: &Trace) -> Result<Option<u64>> {
        Ok(self.occurrence(trace)?.filter(|_| !self.spins).map(|shown| shown.steps_before))
    }
}

/// Code positions of a finding by name.
fn codes(trace: &Trace, finding: &Finding, pcs: impl Iterator<Item = Pc>) -> Result<Vec<Code>> {
    let mut names = Names::default();
    let last = finding.accesses().iter().map(|access| access.event).max().unwrap_or_default();
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        if event.id > last {
            break;
        }
        if matches!(event.op, Op::Module { .. }) {
            names.see(&event);
        }
    }
    Ok(pcs.map(|pc| names.code(pc)).collect())
}

/// Where a failed run ended.
fn ends_at(trace: &Trace, outcome: &Outcome) -> Result<Vec<Code>> {
    let finding = Finding::new(Kind::Failure, Strength::Confirmed, AnalysisId::RECORDING, last_places(trace, outcome)?);
    codes(trace, &finding, finding.accesses().iter().map(|access| access.pc))
}

/// Goes through a trace until `visit` says where it is shown. It hears of each event, what code is called by then, and
/// how many steps came before it.
pub(super) fn scan<F>(trace: &Trace, mut visit: F) -> Result<Option<Occurrence>>
where
    F: FnMut(&Event<'_>, &Names, u64) -> Option<Occurrence>,
{
    let mut names = Names::default();
    let mut steps = 0u64;
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        if matches!(event.op, Op::Module { .. }) {
            names.see(&event);
        }
        if let Some(shown) = visit(&event, &names, steps) {
            return Ok(Some(shown));
        }
        steps += u64::from(event.op.is_step());
    }
    Ok(None)
}

#[derive(Clone, Copy)]
struct AccessSeen {
    thread: ThreadId,
    code: Code,
    event: EventId,
    addr: u64,
    size: u64,
    write: bool,
    atomic: bool,
}

impl AccessSeen {
    fn races(&self, other: &Self) -> bool {
        self.thread != other.thread
            && (self.write || other.write)
            && !(self.atomic && other.atomic)
            && self.addr < other.addr.saturating_add(other.size)
            && other.addr < self.addr.saturating_add(self.size)
    }
}

/// The first place in a trace where accesses at the two code positions, by different threads, to overlapping bytes, at
/// least one writing and one not atomic, follow each other. All that one library call does is one step here: no other
/// thread can come in between.
fn adjacent(trace: &Trace, one: Code, two: Code) -> Result<Option<Occurrence>> {
    let (mut before, mut now): (Vec<AccessSeen>, Vec<AccessSeen>) = (Vec::new(), Vec::new());
    // Who made the steps in `now`, and whether a library call did.
    let mut call: Option<(ThreadId, Code, bool)> = None;
    scan(trace, |event, names, steps| {
        if !event.op.is_step() {
            return None;
        }
        let (access, library) = match event.op {
            Op::Read { addr, size, flags, .. } => {
                (Some((addr, u64::from(size), false, false)), flags.has(AccessFlags::LIBRARY))
            }
            Op::Write { addr, size, flags, .. } => {
                (Some((addr, u64::from(size), true, false)), flags.has(AccessFlags::LIBRARY))
            }
            Op::Atomic { addr, size, kind, .. } => (Some((addr, u64::from(size), kind.writes(), true)), false),
            Op::Free { addr, size } => (Some((addr, size, true, false)), true),
            Op::Alloc { .. } | Op::Input { .. } => (None, true),
            _ => (None, false),
        };
        let (thread, code) = (event.thread, names.code(event.pc));
        if call != Some((thread, code, true)) || !library {
            before = std::mem::take(&mut now);
            call = Some((thread, code, library));
        }
        let (addr, size, write, atomic) = access?;
        let access = AccessSeen { thread, code, event: event.id, addr: addr.0, size, write, atomic };
        let wanted = |first: &&AccessSeen| {
            ((first.code, code) == (one, two) || (first.code, code) == (two, one)) && first.races(&access)
        };
        if let Some(first) = before.iter().find(wanted) {
            let between = (before.len() + now.len()) as u64;
            let events = vec![Some(first.event), Some(event.id)];
            return Some(Occurrence { first: first.code, steps_before: steps - between, events });
        }
        now.push(access);
        None
    })
}

/// Whether the run's own synchronization leaves accesses at the two code positions unordered by the rules of C11.
fn unordered(trace: &Trace, one: Code, two: Code) -> Result<Option<Occurrence>> {
    let mut races = HbRaces::default();
    linear::run(trace, &mut races, &mut |_| true)?;
    let pairs = races.finish().pairs;
    let wanted: BTreeMap<EventId, EventId> = pairs.iter().map(|pair| (pair.second, pair.first)).collect();
    let firsts: BTreeSet<EventId> = pairs.iter().map(|pair| pair.first).collect();
    let mut code_of = BTreeMap::new();
    scan(trace, |event, names, steps| {
        let code = names.code(event.pc);
        if firsts.contains(&event.id) {
            code_of.insert(event.id, code);
        }
        let other = *wanted.get(&event.id)?;
        let first: Code = *code_of.get(&other)?;
        let meant = (first, code) == (one, two) || (first, code) == (two, one);
        meant.then(|| Occurrence { first, steps_before: steps, events: vec![Some(other), Some(event.id)] })
    })
}

/// Whether threads wait at these places for good.
fn stuck_at(trace: &Trace, places: &[Code]) -> Result<Option<Occurrence>> {
    let shown = |StuckAt { first, steps_before, events }| {
        let events = events.into_iter().map(Some).collect();
        Occurrence { first, steps_before, events }
    };
    Ok(stuck(trace, places)?.map(shown))
}

/// Whether the run spins for ever. Where it begins to is not told: such runs are too long to be read for it.
fn spins(trace: &Trace) -> Result<Option<Occurrence>> {
    let nowhere = Code::NOWHERE;
    let events = |places: Vec<Accessor>| places.iter().map(|place| Some(place.event)).collect();
    Ok(spinning(trace)?.map(|places| Occurrence { first: nowhere, steps_before: 0, events: events(places) }))
}

/// Whether the run misuses something at each of these places.
fn misused(trace: &Trace, places: &[Code]) -> Result<Option<Occurrence>> {
    let mut misuses = Misuses::default();
    linear::run(trace, &mut misuses, &mut |_| true)?;
    let found: BTreeSet<EventId> = misuses.finish().misuses.iter().map(|misused| misused.event).collect();
    let mut events = vec![None; places.len()];
    let mut first = None;
    let shown = scan(trace, |event, names, steps| {
        let code = found.contains(&event.id).then(|| names.code(event.pc))?;
        let at = (0..places.len()).find(|&at| places[at] == code && events[at].is_none())?;
        events[at] = Some(event.id);
        let (first, steps_before) = *first.get_or_insert((code, steps));
        let complete = events.iter().all(Option::is_some);
        complete.then(|| Occurrence { first, steps_before, events: Vec::new() })
    })?;
    Ok(shown.map(|shown| Occurrence { events, ..shown }))
}

/// Whether the run uses something at one place that was destroyed at the other, or destroys there what somebody holds.
fn too_late(trace: &Trace, used: Code, end: Code) -> Result<Option<Occurrence>> {
    let late: BTreeMap<EventId, LateUse> = late_uses(trace)?.into_iter().map(|late| (late.used, late)).collect();
    // Locks that were taken there, and by what.
    let mut taken: BTreeMap<ObjectId, EventId> = BTreeMap::new();
    scan(trace, |event, names, steps| {
        let code = names.code(event.pc);
        let shown = |events| Some(Occurrence { first: code, steps_before: steps, events });
        match event.op {
            Op::Acquire { object, .. } if code == used => drop(taken.insert(object, event.id)),
            Op::Release { object, .. } => drop(taken.remove(&object)),
            Op::Misused { what: Misuse::DestroyHeld, object } if code == end => {
                return shown(vec![taken.get(&object).copied(), Some(event.id)]);
            }
            _ => {}
        }
        let late = late.get(&event.id).filter(|late| code == used && names.code(late.end_pc) == end)?;
        shown(vec![Some(late.used), Some(late.end)])
    })
}

/// The place of the first event that is meant, otherwise of the last step.
fn before(trace: &Trace, meant: impl Fn(&Event<'_>) -> bool) -> Result<Option<Occurrence>> {
    let mut last = None;
    let found = scan(trace, |event, names, steps| {
        if event.op.is_step() {
            last = Some(Occurrence { first: names.code(event.pc), steps_before: steps, events: Vec::new() });
        }
        last.clone().filter(|_| meant(event))
    })?;
    Ok(found.or(last))
}

/// Things as numbers, in the order in which they come.
fn numbered<T: PartialEq>(things: impl Iterator<Item = T>) -> Vec<u32> {
    let mut known: Vec<T> = Vec::new();
    let number = |thing: T| {
        let at = known.iter().position(|other| *other == thing).unwrap_or_else(|| {
            known.push(thing);
            known.len() - 1
        });
        at as u32
    };
    things.map(number).collect()
}

/// Which accesses of a finding are to the same memory.
fn memory(trace: &Trace, finding: &Finding) -> Result<Vec<Option<u32>>> {
    let mut addresses = Vec::new();
    for access in finding.accesses() {
        addresses.push(trace.look_at(access.event, |event| address(&event.op))?.flatten());
    }
    let numbers = numbered(addresses.iter().copied());
    Ok(numbers.into_iter().zip(addresses).map(|(number, address)| address.map(|_| number)).collect())
}

/// Where an access begins.
pub(super) const fn address(op: &Op<'_>) -> Option<Addr> {
    match *op {
        Op::Read { addr, .. } | Op::Write { addr, .. } | Op::Atomic { addr, .. } => Some(addr),
        _ => None,
    }
}
